"""The confidence interval of a share."""

from __future__ import annotations

import math

from pauc_lightning.arguments import check_integer, check_number
from pauc_lightning.metrics.functional.interval import Interval


def binomial_interval(successes: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Compute the interval of Clopper and Pearson for the probability behind a share of independent samples.

    It never covers less often than it says, however rare the successes are; approximate intervals do.

    Reference: Clopper and Pearson, *The use of confidence or fiducial limits illustrated in the case of the binomial*,
    Biometrika 26, 1934, https://doi.org/10.1093/biomet/26.4.404.

    Args:
        successes: Number of successes.
        n: Number of samples; with none, the share is NaN and the interval [0, 1].
        confidence: Probability with which the interval covers the true probability, in (0, 1).

    Example:
        >>> print(binomial_interval(0, 100))
        0.0000 [0.0000, 0.0362]
    """
    from scipy.special import betaincinv  # slow to import

    check_integer("n", n, at_least=0)
    check_integer("successes", successes, at_least=0, at_most=n)
    check_number("confidence", confidence, above=0, below=1, hint="95 % is 0.95")
    if n == 0:
        return Interval(math.nan, 0.0, 1.0, math.nan, confidence)
    share, tail = successes / n, (1 - confidence) / 2
    low = float(betaincinv(successes, n - successes + 1, tail)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, n - successes, 1 - tail)) if successes < n else 1.0
    return Interval(share, low, high, math.sqrt(share * (1 - share) / n), confidence)
