"""Tells methods whose training ended while they still improved: a comparison with them flatters the others."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pauc_lightning.experiments.cells import Run

_NOTICEABLE = 0.01
"""A gain of the validation value that is worth more epochs."""
_METRIC = "val/pauc"


def late_gain(folder: Path) -> float | None:
    """How much better the second half of a run's validations is than the first, by the best and by the median.

    The smaller of the two counts: the best of more values is larger even where nothing but chance is at work.

    Args:
        folder: The run's directory.

    Returns:
        The gain; None if there were fewer than three validations with a value.
    """
    path = folder / "metrics.csv"
    if not path.is_file():
        return None
    with path.open(newline="", encoding="utf-8") as file:
        found = [_number(row.get(_METRIC)) for row in csv.DictReader(file)]
    values = [value for value in found if math.isfinite(value)]  # scores that are not finite have no value
    if len(values) < 3:
        return None
    middle = (len(values) + 1) // 2
    first, second = values[:middle], values[middle:]
    of_best = max(values) - max(first)
    return max(0.0, min(of_best, statistics.median(second) - statistics.median(first)))


def _number(text: str | None) -> float:
    """The number; NaN in other rows, and where the file is damaged: a note must not stop a comparison."""
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


def notes(methods: Sequence[str], folders: Mapping[Run, Path], is_tuned: bool = False) -> Iterator[str]:
    """Name the methods that still improved, on average over their runs, when their epochs ended.

    Args:
        methods: The methods in order.
        folders: The directories of the finished runs.
        is_tuned: Whether their settings were searched.
    """
    said = []
    for method in methods:
        gains = [
            gain
            for run, folder in folders.items()
            if run.method == method and (gain := late_gain(folder)) is not None
        ]
        if gains and (mean := statistics.mean(gains)) > _NOTICEABLE:
            said.append(f"{method} by {mean:.3f}")
    if said:
        remedy = (
            "Trained longer (--epochs) or with more trials"
            if is_tuned
            else "Trained longer (--epochs), with larger steps or tuned (--tuned)"
        )
        yield (
            f"Still improving when their epochs ended: {', '.join(said)} on the validation part in the second half of "
            f"the epochs. {remedy}, they may change places."
        )
