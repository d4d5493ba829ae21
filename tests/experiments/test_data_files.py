"""A comparison or a search notices that the file with its data has changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pauc_lightning.cli import main
from pauc_lightning.experiments.data_files import data_files

TABLE = ("-c", "tabular", "--data.label=y", "--model.backbone=LinearScorer", "--trainer.accelerator=cpu")


def write_table(path: Path, shift: float = 0.0) -> None:
    """The shift changes the features only, not the labels and not the number of rows."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(200) % 4 == 0)
    values = rng.normal(size=200) + labels + shift
    path.write_text("x,y\n" + "".join(f"{x:.3f},{int(y)}\n" for x, y in zip(values, labels, strict=True)))


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_files_are_found_in_configs_and_options_and_the_last_one_counts() -> None:
    write_table(Path("a.csv"))
    write_table(Path("b c.csv"), shift=1.0)
    Path("mine.yaml").write_text("data: {class_path: TabularLT, init_args: {path: a.csv, label: y}}\n")
    in_config = data_files(["-c", "mine.yaml", "--model.backbone=a.csv"])
    assert list(in_config) == ["a.csv"]
    in_option = data_files(["-c", "mine.yaml", "--data.path", "b c.csv"])
    assert list(in_option) == ["b c.csv"]
    assert in_option["b c.csv"] != in_config["a.csv"]
    assert data_files(["--data.path=missing.csv"]) == {}


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "--methods", "ce", "--seeds", "0", "--warmup_epochs", "0", "--epochs", "1"),
        ("tune", "--methods", "ce", "--trials", "1", "--warmup_epochs", "0", "--epochs", "1"),
    ],
)
def test_runs_on_different_contents_of_a_file_are_not_mixed(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(Path("mine.csv"))
    arguments = [*command, *TABLE, "--data.path=mine.csv", "--out", "out"]
    main(arguments)
    main(arguments)  # an unchanged file is no obstacle
    write_table(Path("mine.csv"), shift=1.0)
    capsys.readouterr()
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    assert exited.value.code == 2
    assert "mine.csv has changed since" in capsys.readouterr().err
    write_table(Path("mine.csv"))
    main(arguments)  # the same content, written again
