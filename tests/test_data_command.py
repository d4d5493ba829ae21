"""``pauc data`` in this process, with shipped configs and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from pauc_lightning.data import CIFAR10LT, CIFAR100LT, DigitsLT
from pauc_lightning.data.base import Source
from pauc_lightning.data_command import describe, main
from pauc_lightning.errors import InputError

CONFIGS = Path(__file__).parents[1] / "configs"


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


def test_export_and_reload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    split = tmp_path / "split.json"
    main(["--data", "DigitsLT", "--data.init_args.seed=7", "--export", str(split)])
    assert "--data.init_args.split_file" in capsys.readouterr().out
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
    assert len([line for line in full.splitlines() if "  class " in line]) == 101
    assert "cannot come from CIFAR-100" in " ".join(short.split())


def test_mistakes_end_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--data", "DigitLT"], "Did you mean `DigitsLT`?"),
        (["--data", "DigitsLT", "--data.init_args.sed=1"], "Did you mean `seed`?"),
        (["-c", str(tmp_path / "nowhere.yaml")], "nowhere.yaml"),
        ([], "data"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 2
        error = capsys.readouterr().err
        assert error.startswith("error: ")
        assert message in error
    (tmp_path / "broken.yaml").write_text("data: [")
    with pytest.raises(InputError, match="not valid YAML"):
        main(["-c", str(tmp_path / "broken.yaml")])
    with pytest.raises(InputError, match="`data=LightningDataModule` has no classes"):
        main(["--data", "lightning.LightningDataModule"])
