"""The curves of a training run, read from its metrics.csv."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """A quantity over the training.

    Args:
        epoch: When it was logged, in epochs of training done; not a whole number within an epoch.
        value: Its values.
    """

    epoch: Floats
    value: Floats


@dataclass(frozen=True)
class TrainingCurves:
    """Everything that a run has logged.

    Args:
        series: The quantities by their names in metrics.csv, such as ``val/pauc``.
    """

    series: Mapping[str, Series]

    @classmethod
    def read(cls, path: Path) -> TrainingCurves:
        """Read metrics.csv.

        Raises:
            InputError: If it cannot be read, or is not such a file.
        """
        try:
            with path.open(newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"`{path}` cannot be read ({error}): restore it, or delete it.") from error
        if rows and not {"epoch", "step"} <= rows[0].keys():
            raise InputError(f"`{path}` has no columns `epoch` and `step`: restore it, or delete it.")
        try:
            return cls(_series(rows))
        except (TypeError, ValueError) as error:
            raise InputError(f"`{path}` is damaged ({error}): restore it, or delete it.") from error

    def best(self, name: str = "val/pauc") -> tuple[float, float] | None:
        """The epoch and the value at which a quantity was largest; None if it was never logged."""
        found = self.series.get(name)
        if found is None or np.isnan(found.value).all():
            return None
        at = int(np.nanargmax(found.value))
        return float(found.epoch[at]), float(found.value[at])


def _series(rows: Sequence[Mapping[str, str]]) -> dict[str, Series]:
    """The columns, each with the rows that have a value of it."""
    names = [name for name in (rows[0] if rows else ()) if name not in ("epoch", "step")]
    steps = np.array([float(row["step"]) for row in rows])
    epochs = _epochs_done(rows, steps)
    found = {}
    for name in names:
        at = [index for index, row in enumerate(rows) if row[name]]
        if at:
            found[name] = Series(epochs[at], np.array([_float(rows[index][name]) for index in at]))
    return found


def _epochs_done(rows: Sequence[Mapping[str, str]], steps: Floats) -> Floats:
    """How many epochs were done at each row, from the validations, which end an epoch."""
    ends = {float(row["step"]): float(row["epoch"]) + 1 for row in rows if row.get("val/pauc")}
    if not ends:
        return np.array([float(row["epoch"]) for row in rows])
    known = sorted({-1.0: 0.0, **ends}.items())
    (step, epoch), (last_step, last_epoch) = known[-2:]
    if last_step > step:  # an epoch that was not finished goes on at the same pace
        known.append((2 * last_step - step, 2 * last_epoch - epoch))
    at, done = zip(*known, strict=True)
    return np.asarray(np.interp(steps, at, done))


def _float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else math.nan
