"""How far a comparison is, and how long it will take."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Sequence


class Stopwatch:
    """Estimates the time that is left from the seconds per epoch so far, apart for each kind of training.

    Example:
        >>> watch = Stopwatch()
        >>> watch.left([("ce", 2)])
        ''
        >>> watch.add("ce", 10, seconds=5.0)
        >>> watch.left([("ce", 20), ("ce", 20)])
        ', about 20 s left'
        >>> watch.left([("ce", 20), ("pauci", 220)])
        ', about 2 min left if the other methods are as fast'
    """

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._per_epoch: dict[str, list[float]] = defaultdict(list)

    def add(self, kind: str, epochs: int, seconds: float) -> None:
        """Take a training into account."""
        self._per_epoch[kind].append(seconds / epochs)

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started

    def left(self, trainings: Sequence[tuple[str, int]]) -> str:
        """Words on how long these (kind, epochs) will take; none if nothing is known, or nothing left."""
        if not self._per_epoch or not trainings:
            return ""
        known = {kind: statistics.mean(values) for kind, values in self._per_epoch.items()}
        others = statistics.mean(known.values())
        seconds = sum(epochs * known.get(kind, others) for kind, epochs in trainings)
        guess = "" if all(kind in known for kind, _ in trainings) else " if the other methods are as fast"
        return f", about {in_words(seconds)} left{guess}"


def in_words(seconds: float) -> str:
    """A duration for people.

    Example:
        >>> in_words(0.4), in_words(75), in_words(150), in_words(9000)
        ('1 s', '75 s', '2 min', '2 h 30 min')
    """
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
