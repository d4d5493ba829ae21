"""Which points of its curves a dashboard has, so that a resumed run sends each of them once."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

Value = TypeVar("Value")


class SentSteps:
    """The last step of each curve that was sent.

    Args:
        last: The last step by name, of an earlier process.

    Example:
        >>> sent = SentSteps({"train/loss": 9})
        >>> sent.new({"train/loss": 0.5, "val/pauc": 0.8}, step=9)
        {'val/pauc': 0.8}
        >>> sent.new({"train/loss": 0.4, "val/pauc": 0.8}, step=19)
        {'train/loss': 0.4, 'val/pauc': 0.8}
    """

    def __init__(self, last: Mapping[str, int] | None = None) -> None:
        self._last = dict(last or {})

    def new(self, values: Mapping[str, Value], step: int) -> dict[str, Value]:
        """Return the values that have not been sent, and note that they are sent now."""
        unsent = {name: value for name, value in values.items() if step > self._last.get(name, -1)}
        self._last |= dict.fromkeys(unsent, step)
        return unsent


def earlier_rows(directory: Path, first_step: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield what the run logged before it is continued: the step and the values of each row of metrics.csv.

    Args:
        directory: The run's directory.
        first_step: The step from which the run is continued; 0 for a new run, which has no rows.
    """
    path = directory / "metrics.csv"
    if not first_step or not path.is_file():
        return
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            try:
                values = {name: float(value) for name, value in row.items() if value}
                step = int(values.pop("step"))
            except (ValueError, TypeError, KeyError):  # a kill may have cut the last row
                continue
            if step < first_step:
                yield step, {name: int(value) if name == "epoch" else value for name, value in values.items()}
