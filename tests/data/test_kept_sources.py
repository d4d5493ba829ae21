"""Data that several runs of a process need are read once, unless they change or are too large."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from pauc_lightning.data import DigitsLT, TabularLT
from pauc_lightning.data.kept_sources import KeptSources, file_state, read_once
from pauc_lightning.data.table_reader import read_table


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "table.csv", 0.0)


def write(path: Path, shift: float) -> Path:
    rows = [f"{i * 0.37 % 5 + shift},{'ab'[i % 2]},{int(i % 5 == 0)}" for i in range(100)]
    path.write_text("\n".join(["x,kind,label", *rows]) + "\n")
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that have been read."""
    seen: list[Path] = []

    def noted(argument: str, path: Path, *args: Any) -> Any:
        seen.append(path)
        return read_table(argument, path, *args)

    monkeypatch.setattr("pauc_lightning.data.tabular.read_table", noted)
    return seen


def table(path: Path, seed: int = 0, **settings: Any) -> TabularLT:
    return TabularLT(path=str(path), label="label", seed=seed, **settings)


def test_runs_get_what_they_would_have_read(path: Path, reads: list[Path]) -> None:
    """Each seed standardises by its own training part, so sharing must not change the rows."""
    alone = [table(path, seed) for seed in range(3)]
    wanted = [(data.inputs.clone(), data.targets, data.training_state()) for data in alone]
    assert len(reads) == 3
    with KeptSources().in_use():
        shared = [table(path, seed) for seed in (0, 1, 2, 0)]
        for data, (inputs, targets, state) in zip(shared, [*wanted, wanted[0]], strict=True):
            assert torch.equal(data.inputs, inputs)
            assert (data.targets == targets).all()
            assert data.training_state() == state
    assert len(reads) == 4
    assert not torch.equal(wanted[0][0], wanted[1][0])


def test_other_settings_or_a_changed_file_are_read_again(path: Path, reads: list[Path]) -> None:
    sources = KeptSources()
    with sources.in_use():
        first = table(path).inputs
        assert table(path, ignore=["kind"]).inputs.shape == (100, 1)
        assert table(path, positive_values=[0]).targets.sum() == 80
        assert len(reads) == 3
        times = path.stat()
        write(path, 3.0)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1))
        changed = table(path)
        assert changed.table_state.encoding.columns[0].middle > 3  # type: ignore[union-attr]
        assert len(reads) == 4
    assert first.shape == changed.inputs.shape
    table(path).inputs  # noqa: B018  # outside of the block nothing is shared
    assert len(reads) == 5


def test_memory_is_bounded() -> None:
    sources = KeptSources(most_bytes=10)
    log: list[str] = []

    def read(name: str) -> str:
        log.append(name)
        return name

    with sources.in_use():
        for name in ("aaaa", "bbbb", "aaaa", "cccc", "aaaa", "bbbb", "x" * 11, "x" * 11, "bbbb"):
            assert read_once(name, lambda name=name: read(name), len) == (name, True)  # type: ignore[misc]
    assert log == ["aaaa", "bbbb", "cccc", "bbbb", "x" * 11, "x" * 11]
    assert read_once("aaaa", lambda: read("aaaa"), len) == ("aaaa", False)


def test_a_missing_file_is_reported_by_its_reader(tmp_path: Path) -> None:
    assert file_state(tmp_path / "nothing") == file_state(tmp_path / "nothing")
    with KeptSources().in_use(), pytest.raises(Exception, match="no such file"):
        table(tmp_path / "nothing.csv").source  # noqa: B018


def test_digits_are_shared() -> None:
    with KeptSources().in_use():
        assert DigitsLT(seed=0).source is DigitsLT(seed=1).source
    assert DigitsLT(seed=0).source is not DigitsLT(seed=0).source
