"""When to give up a training: as long as it is worse than the median of the earlier trials at the same epoch."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from pauc_lightning.tuning.trial import Trial

LEAST_TRIALS = 5
"""Complete trials that are needed for a median."""
GRACE = 0.25
"""The part of the epochs in which nothing is given up: a larger step may be worse at first."""


def bars(known: Sequence[Trial], seed: int) -> list[float | None]:
    """Compute the values that a training has to reach in order to go on.

    The run compares its best value so far with them. They are part of its command, so it needs no contact with the
    search, and its result is the same wherever and whenever it runs.

    Args:
        known: The trials that have ended. Only complete ones count: the others have no curve to their end.
        seed: The seed of the training; it is compared with trainings on the same split.

    Returns:
        For each validation, the median of the best values so far; None where nothing is given up. Empty if there are
        too few trials.
    """
    curves = [
        run.best_so_far
        for trial in known
        if trial.state == "complete"
        for run in trial.runs
        if run.seed == seed
    ]
    if len(curves) < LEAST_TRIALS:
        return []
    least = min(map(len, curves))
    first = max(1, math.ceil(GRACE * least))
    return [
        None if index < first else statistics.median(curve[index] for curve in curves)
        for index in range(least - 1)  # after the last validation nothing is left to be saved
    ]
