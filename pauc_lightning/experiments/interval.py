"""Intervals for the mean gain over several random splits of the same data."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

LEVEL = 0.95
TEST_OVER_TRAIN = 0.15 / 0.7
"""The ratio of the parts' sizes, for data that do not say it."""
_EQUAL = 1e-6
"""Differences of values that were rounded to single precision may be equal although their last digits differ."""


@dataclass(frozen=True)
class Interval:
    """The lower and the upper end."""

    low: float
    high: float

    @property
    def side(self) -> int:
        """1 if the interval lies above zero, -1 if below, 0 if it includes zero."""
        return int(self.low > 0) - int(self.high < 0)


def corrected_interval(
    differences: Sequence[float], test_over_train: float = TEST_OVER_TRAIN, level: float = LEVEL
) -> Interval | None:
    r"""Compute the corrected resampled t-interval of the mean of paired differences.

    The splits of different seeds overlap, so the differences are not independent, and an ordinary t-interval is too
    narrow. With mean :math:`\bar d` and sample variance :math:`s^2` of :math:`J` differences it is

    .. math:: \bar d \pm t_{J-1} \sqrt{\left(\frac1J + \frac{n_\text{test}}{n_\text{train}}\right) s^2}.

    Nadeau and Bengio, *Inference for the generalization error*, Machine Learning 52 (2003).

    Args:
        differences: One difference per split.
        test_over_train: The size of the test part over that of the training part.
        level: The probability that the interval covers.

    Returns:
        The interval; None if the variance is unknown, with fewer than two differences or with equal ones: the same gain
        on every split is chance (few positives), and an interval without width would count it as proof. Differences
        that are all zero do have an interval without width, because both are the same model.

    Example:
        >>> interval = corrected_interval([0.01, 0.03, 0.02], test_over_train=0.2)
        >>> f"{interval.low:.4f} {interval.high:.4f}"
        '-0.0114 0.0514'
    """
    count = len(differences)
    if count < 2 or (max(differences) - min(differences) <= _EQUAL < max(map(abs, differences))):
        return None
    mean = statistics.mean(differences)
    spread = math.sqrt((1 / count + test_over_train) * statistics.variance(differences))
    half = float(stdtrit(count - 1, (1 + level) / 2)) * spread
    return Interval(mean - half, mean + half)
