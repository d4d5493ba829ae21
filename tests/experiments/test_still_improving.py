"""The note about methods that were not trained to their end, from files in the format of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from pauc_lightning.experiments.cells import Run
from pauc_lightning.experiments.still_improving import late_gain, notes
from pauc_lightning.region import Region


def run_with(folder: Path, values: Sequence[float | str]) -> Path:
    folder.mkdir(parents=True)
    rows = [
        line
        for epoch, value in enumerate(values)
        for line in (f"{epoch},{epoch},0.3,", f"{epoch},{epoch},,{value}")
    ]
    (folder / "metrics.csv").write_text("\n".join(["epoch,step,train/loss,val/pauc", *rows, ""]))
    return folder


@pytest.mark.parametrize(
    ("values", "gain"),
    [
        ([0.1, 0.3, 0.5, 0.6], 0.3),  # .6 against the best of the first two
        ([0.1, 0.5, 0.4, 0.6, 0.4], 0.1),  # the middle belongs to the first half; medians: .4 and .5
        ([0.3, 0.5, 0.4, 0.6, 0.2], 0.0),  # the medians are equal: chance
        ([0.6, 0.5, 0.5, 0.4], 0.0),
        ([0.1, 0.6], None),
        ([math.nan, 0.1, 0.2, 0.5], 0.3),  # NaN is no value, wherever it stands
        ([0.1, math.nan, math.nan, 0.2], None),
        (["damaged", 0.1, 0.2, 0.5], 0.3),
    ],
)
def test_the_gain_of_the_second_half(tmp_path: Path, values: list[float | str], gain: float | None) -> None:
    assert late_gain(run_with(tmp_path / "run", values)) == (gain if gain is None else pytest.approx(gain))


def test_methods_are_named_by_their_mean(tmp_path: Path) -> None:
    region = Region(0.3)
    folders = {
        Run("ce", region, 0): run_with(tmp_path / "a", [0.1, 0.2, 0.3]),  # +.1
        Run("ce", region, 1): run_with(tmp_path / "b", [0.1, 0.2, 0.2]),  # 0
        Run("ours", region, 0): run_with(tmp_path / "c", [0.1, 0.3, 0.305]),  # too little to mention
        Run("old", region, 0): tmp_path / "no metrics",
    }
    (note,) = notes(["ours", "ce", "old"], folders)
    assert "ended: ce by 0.050 on the validation part" in note
    assert "ours" not in note
    assert "with larger steps or tuned (--tuned), they may change places" in note
    (note,) = notes(["ours", "ce", "old"], folders, is_tuned=True)
    assert "Trained longer (--epochs) or with more trials, they may" in note
    assert list(notes(["ours"], folders)) == []
