"""Whether the files of a comparison are missed before anything is trained."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from pauc_lightning.cli import main
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.input_files import InputFile, check_input_files, input_files

pytest.importorskip("pandas")

EXPERIMENT = """
data: {class_path: TabularLT, init_args: {label: label}}
model: {init_args: {backbone: LinearScorer}}
compare:
  data:
    here: {config: tabular, data.path: here.csv}
    gone: {config: tabular, data.path: tables/gone.csv}
  methods: [ce]
  regions: [0.3]
  seeds: [0]
  warmup_epochs: 1
  epochs: 1
"""


@pytest.fixture(autouse=True)
def _in_a_folder_with_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{int(x > 1)}" for x in rng.normal(size=300)]
    Path("here.csv").write_text("\n".join(["x,label", *rows]) + "\n")
    Path("two.yaml").write_text(EXPERIMENT)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["compare", *arguments])
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_one_missing_table_of_two_stops_the_comparison_before_it_writes_anything(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = refused(capsys, "-c", "two.yaml", "--out", "compared")
    assert "`data.path=tables/gone.csv` does not exist" in said
    assert "here.csv" not in said
    assert "or compare what is there: --data_sets here" in said
    assert not Path("compared").exists()


def test_the_advice_helps(capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", "-c", "two.yaml", "--out", "compared", "--data_sets", "here"])
    assert Path("compared/table.csv").is_file()
    # What has been trained is shown, even if its table has gone since.
    Path("here.csv").unlink()
    main(["compare", "-c", "two.yaml", "--out", "compared", "--data_sets", "here"])
    assert "ce" in capsys.readouterr().out


def test_the_only_table(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (
        "-c",
        "tabular",
        "--data.path=gone.csv",
        "--data.label=label",
        "--model.backbone=LinearScorer",
    )
    said = refused(capsys, *arguments, "--methods", "ce", "--regions", "0.3", "--seeds", "0")
    assert "`data.path=gone.csv` does not exist. Put it there" in said
    assert "--data_sets" not in said


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (
            "folder.csv",
            "`data.path=folder.csv` is a folder, not a file. Give another path, or compare what is",
        ),
        (
            "empty.csv",
            "`data.path=empty.csv` is empty. Give another path, or compare what is there: --data_sets",
        ),
        (
            "~/gone.csv",
            "A shell puts the home folder for ~ only at the start of a word: write /home/me/gone.csv.",
        ),
    ],
)
def test_one_useless_path_of_two_stops_the_comparison_as_well(
    path: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    Path("folder.csv").mkdir()
    Path("empty.csv").touch()
    Path("two.yaml").write_text(EXPERIMENT.replace("tables/gone.csv", path))
    assert said in refused(capsys, "-c", "two.yaml", "--out", "compared")
    assert not Path("compared").exists()


def test_a_data_set_whose_warm_up_fails_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.csv").write_text("x,label\n" + "0.1,0\n" * 50)
    Path("two.yaml").write_text(EXPERIMENT.replace("tables/gone.csv", "bad.csv"))
    with pytest.raises(SystemExit) as stopped:
        main(["compare", "-c", "two.yaml", "--out", "compared"])
    assert stopped.value.code == 1
    table = Path("compared/table.md").read_text()
    (why,) = re.findall(r"seed 0: not run, because its gone: warm-up, seed 0, failed: (.*)", table)
    assert "label" in why
    assert "Its log is compared/gone/warmup-seed0/log.txt." in why


def test_weights_of_a_network() -> None:
    config = {
        "data": {"class_path": "pauc_lightning.data.ImageFolderLT", "init_args": {"root": "images"}},
        "model": {
            "init_args": {
                "backbone": {
                    "class_path": "pauc_lightning.models.TimmModel",
                    "init_args": {"name": "resnet18", "weights": "w.safetensors"},
                }
            }
        },
    }
    found = list(input_files(config))
    images = InputFile("data.root", "images", is_folder=True)
    assert found == [images, InputFile("model.backbone.weights", "w.safetensors")]
    config["model"]["init_args"]["backbone"]["init_args"]["weights"] = None  # type: ignore[index]
    assert list(input_files(config)) == [images]


def test_data_that_read_no_files_are_left_alone() -> None:
    digits = {"class_path": "pauc_lightning.data.DigitsLT", "init_args": {"seed": 0}}
    assert not list(input_files({"data": digits, "model": {"init_args": {"backbone": None}}}))


def test_all_that_is_wrong_is_said(tmp_path: Path) -> None:
    Path("file").write_text("x")
    files = {
        "a": [
            InputFile("data.root", "file", is_folder=True),
            InputFile("model.backbone.weights", "gone.bin"),
        ],
        "b": [InputFile("data.path", str(tmp_path))],
        "c": [InputFile("data.path", "here.csv"), InputFile("data.root", str(tmp_path), is_folder=True)],
    }
    with pytest.raises(InputError) as refusal:
        check_input_files(files)
    assert str(refusal.value) == (
        "The comparison was not started, because `model.backbone.weights=gone.bin` does not exist; "
        f"`data.path={tmp_path}` is a folder, not a file; `data.root=file` is not a folder. Put it there, start in "
        "the folder that has it, give other paths, or compare what is there: --data_sets c."
    )
    check_input_files({"c": files["c"]})


def test_many_missing_files_are_each_named_once() -> None:
    names = [InputFile("data.path", f"{i}.csv") for i in range(12)]
    with pytest.raises(
        InputError, match=r"`data.path=9.csv` and 2 more do not exist. Put them there, .*other paths"
    ):
        check_input_files({"a": names, "b": names})
