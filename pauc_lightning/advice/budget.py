"""Spends the time: one tuned comparison per split, as many splits as fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from pauc_lightning.advice.options import FEWEST_SEEDS, AdviceRequest
from pauc_lightning.durations import in_words
from pauc_lightning.experiments.plan import Plan, Tuning

_SHARE_OF_SEARCH = 0.7
"""The share of a split's time that goes to the search, before it is known how long the rest takes."""


_OVERTIME = f"the time is up, but advice needs {FEWEST_SEEDS} splits"


class Budget:
    """Divides the time among the splits.

    Args:
        request: What was asked for.
        clock: Returns the time in seconds.
    """

    def __init__(self, request: AdviceRequest, clock: Callable[[], float] = time.monotonic) -> None:
        self._request = request
        self._clock = clock
        self._deadline = clock() + 60 * request.minutes
        self._longest_rest = 0.0
        self._started = clock()
        self._search = 0.0
        self.seeds: list[int] = []
        """The splits that have been used."""

    def plans(self, is_finished: Callable[[int], bool]) -> Iterator[Plan]:
        """Yield the comparison of each split while there is time; at least the fewest that make an interval.

        Args:
            is_finished: Whether the runs of a seed are finished, from an earlier call of the command.
        """
        seeds = self._request.plan.seeds
        for position, seed in enumerate(seeds):
            left = self._deadline - self._clock()
            known = is_finished(seed)
            if position >= FEWEST_SEEDS and not known and left < self._longest_rest:
                print(
                    f"The time is up after {position} of {len(seeds)} splits: more --minutes use more of them.",
                    flush=True,
                )
                return
            share = max(left, 0.0) / (len(seeds) - position)
            rest = self._longest_rest or (1 - _SHARE_OF_SEARCH) * share
            self._search = max(share - rest, 1.0)
            if not known:
                remaining = f"about {in_words(left)} left" if left > 0 else _OVERTIME
                print(f"Split {position + 1} of {len(seeds)}, seed {seed} ({remaining}):", flush=True)
            self._started = self._clock()
            yield replace(self._request.plan, seeds=(seed,), tuning=Tuning(seconds=self._search))
            self.seeds.append(seed)
            if not known:
                took = self._clock() - self._started
                self._longest_rest = max(self._longest_rest, took - self._search)
