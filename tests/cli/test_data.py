"""``pauc data`` in this process, with shipped configs and mistakes."""

from __future__ import annotations

import builtins
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from pauc_lightning.cli import main as pauc
from pauc_lightning.cli.data import main
from pauc_lightning.cli.data_tables import describe
from pauc_lightning.data import CIFAR10LT, CIFAR100LT, DigitsLT
from pauc_lightning.data.source import Source

CONFIGS = Path(__file__).parents[2] / "configs"


def test_a_config_with_other_sections(capsys: pytest.CaptureFixture[str]) -> None:
    main(["-c", f"{CONFIGS}/data/digits.yaml", f"--config={CONFIGS}/method/ce.yaml"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "DigitsLT; positive: 3, 8"
    rows = {line.split()[0]: line.split()[1:] for line in lines if line}
    data = DigitsLT()
    n_pos = int(data.targets[data.split.train].sum())
    assert rows["train"] == [str(n_pos), str(data.train_size - n_pos), str(data.train_size)]
    assert sum(int(rows[part][2]) for part in ("train", "val", "test")) == int(
        rows["all"][2].replace(",", "")
    )
    for count in data.class_counts:
        row = rows["+"] if count.label == 8 else rows.get(str(count.label))
        if count.label != 3:  # both positives begin with a plus; the later one is kept
            expected = [str(count.train), str(count.val), str(count.test)]
            assert row is not None
            assert row[-3:] == expected


def test_in_a_notebook_the_tables_are_printed_as_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There rich sends HTML to the notebook, past standard output, and Jupyter asks for colours."""
    shell = type("ZMQInteractiveShell", (), {})  # rich recognises Jupyter by this name
    monkeypatch.setattr(builtins, "get_ipython", shell, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(["-c", f"{CONFIGS}/data/digits.yaml"])
    said = capsys.readouterr().out
    assert said.startswith("DigitsLT; positive: 3, 8\n")
    assert "\x1b" not in said


def test_export_and_reload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    split = tmp_path / "split.json"
    main(["--data", "DigitsLT", "--data.init_args.seed=7", "--export", str(split)])
    assert "--data.split_file" in capsys.readouterr().out
    assert json.loads(split.read_text())["about"]["seed"] == 7
    loaded = DigitsLT(split_file=str(split))
    assert np.array_equal(loaded.split.test, DigitsLT(seed=7).split.test)


def with_labels_only(kind: type[CIFAR10LT], subset: int, per_class: int, n_classes: int) -> CIFAR10LT:
    """A module whose images were replaced by labels: counts need nothing else."""
    data = kind(subset=subset)  # type: ignore[arg-type]
    names = [f"class {i}" for i in range(n_classes)]
    n = per_class * n_classes
    data.__dict__["source"] = Source(torch.empty(n, 0), np.repeat(np.arange(n_classes), per_class), names)
    return data


def test_the_papers_counts_stand_beside_ours() -> None:
    text = describe(with_labels_only(CIFAR10LT, 3, 6000, 10))
    assert "CIFAR-10-LT-3 of the paper; positive: class 3 (3)" in text
    train = next(line.split() for line in text.splitlines() if line.startswith("train"))
    assert train == ["train", "904", "9,513", "10,417", "904", "9,511"]
    assert "+0 positives, +2 negatives" in text
    assert "it is cats" in text


def test_many_classes_are_abridged_unless_asked_for() -> None:
    data = with_labels_only(CIFAR100LT, 1, 600, 100)
    short, full = describe(data), describe(data, all_classes=True)
    assert "11 of 100 classes" in short
    assert short.count("\n+") == full.count("\n+") == 5
    assert len([line for line in full.splitlines() if "  class " in line]) == 101  # and the header
    assert "cannot come from CIFAR-100" in " ".join(short.split())


def test_mistakes_end_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.yaml").write_text("data: [")
    Path("binary.yaml").write_bytes(b"\xff\xfe\x00")
    Path("list.yaml").write_text("- data\n")
    Path("empty.yaml").write_text("")
    Path("number.yaml").write_text("data: 3\n")
    Path("model.yaml").write_text("model: CE\n")
    Path("file").write_text("in the way")
    Path("folder").mkdir()
    for arguments, message in (
        (["--data", "DigitLT"], "Did you mean `DigitsLT`?"),
        (["--data", "DigitsLT", "--data.init_args.sed=1"], "Did you mean `seed`?"),
        (
            ["--data", "DigitsLT", "--data.init_args.seed=-1"],
            "`seed` must be a whole number, at least 0, got -1.",
        ),
        (["-c", "nowhere.yaml"], "`nowhere.yaml` is neither a file"),
        (["-c", "folder"], "`-c folder` is a directory"),
        (["-c"], "`-c` needs a config file"),
        (["-c", "broken.yaml"], "`-c broken.yaml` is not valid YAML: "),
        (["--config=binary.yaml"], "`-c binary.yaml` is not a text file"),
        (["-c", "list.yaml"], "`-c list.yaml` holds a list, not settings"),
        (["-c", "empty.yaml"], "no data given"),
        (["-c", "number.yaml"], "`-c number.yaml` has `data: 3`: expected a class"),
        (["-c", "model.yaml"], "no data given: name a config that has a `data` section"),
        (["--dta=DigitsLT"], "`--dta` is not an option of `pauc data`. Did you mean `--data`?"),
        ([], "no data given: name a config that has a `data` section"),
        (["--data", "DigitsLT", "--export", "folder"], "cannot write folder: Is a directory"),
        (["--data", "DigitsLT", "--export", "file/split.json"], "cannot write file/split.json"),
        (["--data", "DigitsLT", "--export="], "`export` must be the path of a file or folder, got ''."),
        (["--data", "lightning.LightningDataModule"], "`data=LightningDataModule` has no classes"),
    ):
        with pytest.raises(SystemExit) as stop:
            pauc(["data", *arguments])
        assert stop.value.code == 2, arguments
        error = capsys.readouterr().err
        assert error.startswith("error: "), arguments
        assert message in error, arguments
        assert "Traceback" not in error
        if arguments[:1] != ["--data"]:
            assert error.count("\n") == 1, arguments
    left = {"broken", "binary", "list", "empty", "number", "model", "file", "folder"}
    assert {path.stem for path in tmp_path.iterdir()} == left


def test_an_export_over_a_file_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "split.json"
    for seed, is_there in ((1, False), (2, True)):
        main(["--data=DigitsLT", f"--data.seed={seed}", f"--export={path}"])
        assert ("It replaces the file that was there." in capsys.readouterr().out) == is_there
        assert json.loads(path.read_text())["about"]["seed"] == seed
