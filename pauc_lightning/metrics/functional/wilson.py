"""Wilson's interval of a share whose variance is known from resampling."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def wilson_interval(
    share: ArrayLike, variance: ArrayLike, n: int, confidence: float
) -> tuple[Floats, Floats]:
    """Compute the ends of Wilson's intervals of shares, with as many samples as the variance implies, at most ``n``.

    Percentiles of resamples collapse to a point where all samples agree, as at the top of a ROC curve; this does not.

    Reference: E. B. Wilson, *Probable Inference, the Law of Succession, and Statistical Inference*, Journal of the
    American Statistical Association 22(158), 1927, https://doi.org/10.1080/01621459.1927.10502953.

    Args:
        share: The shares, in [0, 1].
        variance: Their variances over resamples.
        n: The number of samples that a share is of.
        confidence: Probability with which an interval covers the true share.

    Example:
        >>> low, high = wilson_interval([0.9, 1.0], [0.0036, 0.0], 25, 0.95)
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.725, 0.867], [0.968, 1.0])
    """
    share = np.asarray(share, np.float64)
    inside = (share * n + 0.5) / (n + 1)  # a share of 0 or 1 has a variance, too
    binomial = inside * (1 - inside)
    samples = binomial / np.maximum(variance, binomial / n)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    centre = (share + z**2 / (2 * samples)) / (1 + z**2 / samples)
    reach = z / (1 + z**2 / samples) * np.sqrt(share * (1 - share) / samples + z**2 / (4 * samples**2))
    # A share of 0 or 1 is an end itself, which rounding must not move.
    return np.clip(centre - reach, 0.0, share), np.clip(centre + reach, share, 1.0)
