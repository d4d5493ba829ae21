"""Estimates of the time left."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from pauc_lightning.durations import in_words


@dataclass(frozen=True)
class TimeLeft:
    """The estimated time of the remaining cells.

    Args:
        seconds: The time of the cells whose kind has been measured.
        is_complete: Whether that is all of them.
    """

    seconds: float
    is_complete: bool

    def __str__(self) -> str:
        """Describe it in words; cells of an unknown kind make it a lower bound."""
        if self.is_complete:
            return f"about {in_words(self.seconds)} left"
        return f"at least {in_words(self.seconds)} left" if self.seconds > 0 else "estimating the time left"


class Stopwatch:
    """Estimates durations from finished cells of the same kind, by their seconds per epoch.

    Example:
        >>> watch = Stopwatch()
        >>> print(watch.left([("ce", 2)]))
        estimating the time left
        >>> watch.add("ce", 10, seconds=5.0)
        >>> print(watch.left([("ce", 20), ("ce", 20)]))
        about 20 s left
        >>> print(watch.left([("ce", 20), ("pauci", 20)]))
        at least 10 s left
    """

    def __init__(self) -> None:
        self._per_epoch: dict[str, list[float]] = defaultdict(list)

    def add(self, kind: str, epochs: int, seconds: float) -> None:
        """Take a finished cell into account."""
        self._per_epoch[kind].append(seconds / epochs)

    def expected(self, kind: str, epochs: int) -> float | None:
        """Estimate the seconds that a cell takes; None before one of its kind has finished."""
        known = self._per_epoch.get(kind)
        return statistics.mean(known) * epochs if known else None

    def left(self, cells: Sequence[tuple[str, int]], running: float = 0.0) -> TimeLeft:
        """Estimate how long these cells take one after another.

        Args:
            cells: Kind and number of epochs of each cell; the first may be running.
            running: Seconds for which the first cell has been running.
        """
        expected = [self.expected(kind, epochs) for kind, epochs in cells]
        known = [seconds for seconds in expected if seconds is not None]
        is_first_known = bool(expected) and expected[0] is not None
        already = min(running, known[0]) if is_first_known else 0.0
        return TimeLeft(sum(known) - already, len(known) == len(expected))
