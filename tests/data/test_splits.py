"""Splits that travel as files."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest

from pauc_lightning.data import DigitsLT
from pauc_lightning.data.longtail import Split
from pauc_lightning.data.splits import fingerprint, load_split, save_split
from pauc_lightning.errors import InputError


def test_a_split_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "split.json"
    made = DigitsLT(seed=3)
    made.export_split(str(path))
    loaded = DigitsLT(seed=4, imbalance_ratio=0.5, split_file=str(path))
    for (_, ours), (_, theirs) in zip(made.split.items(), loaded.split.items(), strict=True):
        assert np.array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype == np.int64
    assert not np.array_equal(DigitsLT(seed=4).split.train, loaded.split.train)
    # Any JSON reader can use it.
    content = json.loads(path.read_text())
    assert content["train"] == made.split.train.tolist()
    assert content["about"]["seed"] == 3


def test_other_data_are_refused(tmp_path: Path) -> None:
    labels = np.array([0, 1, 0, 1, 0, 1])
    split = Split(np.array([0, 1]), np.array([2, 3]), np.array([4, 5]))
    path = tmp_path / "split.json"
    save_split(path, split, fingerprint(labels, ["a", "b"]), {"data": "mine"})
    assert load_split(path, fingerprint(labels, ["a", "b"]), 6).test.tolist() == [4, 5]
    for other in (
        fingerprint(labels[::-1], ["a", "b"]),
        fingerprint(labels, ["a", "c"]),
        fingerprint(labels),
    ):
        with pytest.raises(InputError, match="made for other data"):
            load_split(path, other, 6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": [0, 2]}, "overlap"),
        ({"train": [0, 6]}, "do not exist"),
        ({"train": [-1, 0]}, "do not exist"),
        ({"train": [0, 10**30]}, "do not exist"),
        ({"train": [0, 0]}, "overlap"),
        ({"format": "something else"}, "not a split"),
        ({"train": []}, "its part 'train' .* is nothing"),
        ({"val": None}, "its part 'val' .* is nothing"),
        ({"test": "4"}, "its part 'test' .* is something else"),
        ({"test": ["4", "5"]}, "its part 'test' .* is something else"),
        ({"test": [4.5]}, "its part 'test' .* is something else"),
        ({"test": [True]}, "its part 'test' .* is something else"),
        ({"test": [[4], [5]]}, "its part 'test' .* is something else"),
        ({"source": None}, "made for other data"),
    ],
)
def test_damage_is_noticed(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "split.json"
    save_split(path, Split(np.array([0, 1]), np.array([2, 3]), np.array([4, 5])), "source", {})
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message):
        load_split(path, "source", 6)


@pytest.mark.parametrize("missing", ["format", "source", "about", "train", "val", "test"])
def test_missing_keys_are_noticed(tmp_path: Path, missing: str) -> None:
    path = tmp_path / "split.json"
    save_split(path, Split(np.array([0, 1]), np.array([2, 3]), np.array([4, 5])), "source", {})
    content = json.loads(path.read_text())
    del content[missing]
    path.write_text(json.dumps(content))
    if missing == "about":  # is for people only
        assert load_split(path, "source", 6).val.tolist() == [2, 3]
        missing = "source"
    with pytest.raises(InputError, match=r"`split_file=.*split\.json`"):
        load_split(path, "other" if missing == "source" else "source", 6)


def test_a_split_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "split.json"
    DigitsLT(seed=3).export_split(str(path))
    before = path.read_bytes()

    def cut(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", cut)  # where a full disk shows at the latest
    with pytest.raises(InputError, match=r"cannot write .*split\.json: No space left"):
        DigitsLT(seed=4).export_split(str(path))
    assert path.read_bytes() == before
    assert [child.name for child in tmp_path.iterdir()] == ["split.json"]


def test_files_that_are_no_splits_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"split_file=.*cannot be read: Is a directory"):
        load_split(tmp_path, "source", 6)
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"split_file=.*binary\.json.*cannot be read"):
        load_split(tmp_path / "binary.json", "source", 6)
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"split_file=.*deep\.json.*cannot be read"):
        load_split(tmp_path / "deep.json", "source", 6)
    with pytest.raises(InputError, match=r"split_file=.*missing\.json.*cannot be read"):
        load_split(tmp_path / "missing.json", "source", 6)
    (tmp_path / "split.json").write_text("{")
    with pytest.raises(InputError, match=r"split_file=.*split\.json.*cannot be read"):
        load_split(tmp_path / "split.json", "source", 6)
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(InputError, match="not a split"):
        load_split(tmp_path / "list.json", "source", 6)
