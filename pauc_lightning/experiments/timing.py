"""Estimates of the time left."""

from __future__ import annotations

import heapq
import statistics
from collections import defaultdict
from collections.abc import Hashable, Sequence
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


@dataclass(frozen=True)
class Remaining:
    """A cell that has not ended.

    Args:
        name: The cell.
        kind: Cells of one kind take about equally long.
        epochs: Its number of epochs.
        running: Seconds for which it has been running; None if it has not started.
        after: The cell that must end before this one starts.
    """

    name: Hashable
    kind: Hashable
    epochs: int
    running: float | None = None
    after: Hashable = None


class Stopwatch:
    """Estimates durations from finished cells of the same kind, by their seconds per epoch.

    Example:
        >>> watch = Stopwatch()
        >>> first, second = Remaining("a", "ce", 20), Remaining("b", "ce", 20)
        >>> print(watch.left([first]))
        estimating the time left
        >>> watch.add("ce", 10, seconds=5.0)
        >>> print(watch.left([first, second]))
        about 20 s left
        >>> print(watch.left([first, second], slots=2))
        about 10 s left
        >>> print(watch.left([first, Remaining("c", "pauci", 20)]))
        at least 10 s left
    """

    def __init__(self) -> None:
        self._per_epoch: dict[Hashable, list[float]] = defaultdict(list)

    def add(self, kind: Hashable, epochs: int, seconds: float) -> None:
        """Take a finished cell into account."""
        self._per_epoch[kind].append(seconds / epochs)

    def expected(self, cell: Remaining) -> float | None:
        """Estimate the seconds that a cell still takes; None before one of its kind has finished."""
        known = self._per_epoch.get(cell.kind)
        if not known:
            return None
        return max(0.0, statistics.mean(known) * cell.epochs - (cell.running or 0.0))

    def left(self, cells: Sequence[Remaining], slots: int = 1) -> TimeLeft:
        """Estimate how long these cells take if they are started in order, as slots become free.

        Args:
            cells: The cells that have not ended.
            slots: Number of cells that run at a time.
        """
        free = [0.0] * slots
        ends: dict[Hashable, float] = {}
        is_complete = True
        for cell in sorted(cells, key=lambda cell: cell.running is None):  # those that are running come first
            seconds = self.expected(cell)
            is_complete = is_complete and seconds is not None
            start = max(heapq.heappop(free), ends.get(cell.after, 0.0))
            ends[cell.name] = start + (seconds or 0.0)
            heapq.heappush(free, ends[cell.name])
        return TimeLeft(max(ends.values(), default=0.0), is_complete)
