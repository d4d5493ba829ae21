r"""The influence of each sample on the partial AUC, from which its variance follows without resampling.

With :math:`S(y)` the share of positives above y, :math:`g(y) = \max(0, S(y) - \text{min\_tpr})`, and :math:`q_b` the
negatives' upper b-quantile, the partial AUC is

.. math:: \theta = \frac{E_-[g(Y)\,1\{Y > q_{\text{max\_fpr}}\}] - E_-[g(Y)\,1\{Y > q_{\text{min\_fpr}}\}]}
                        {(1-\text{min\_tpr})(\text{max\_fpr}-\text{min\_fpr})}.

The numbers S(Y) are the placement values of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988). A quantile that is
estimated from the same negatives adds the term of an expected shortfall: with
:math:`A_b(Y) = (g(Y) - g(q_b))\,1\{Y > q_b\} + b\,g(q_b)` a negative has the influence
:math:`(A_{\text{max\_fpr}} - A_{\text{min\_fpr}})(Y)/\text{size} - \theta`, and a positive X that of the mean over the
region's negatives of :math:`1\{X > Y\} - S(Y)`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.region import Region

Floats = NDArray[np.float64]


class Influence(NamedTuple):
    """How much each sample moves the partial AUC, as deviations with mean zero.

    Args:
        positives: Of each positive, in the order given.
        negatives: Of each negative, in the order given.
    """

    positives: Floats
    negatives: Floats

    def __sub__(self, other: Influence) -> Influence:
        """The influence on the difference of two models' partial AUCs on the same samples."""
        return Influence(self.positives - other.positives, self.negatives - other.negatives)

    @property
    def standard_error(self) -> float:
        """The standard error: both classes are independent samples."""
        parts = (np.var(values, ddof=1) / len(values) for values in self)
        return float(np.sqrt(sum(parts)))


def influence(scores: NDArray[Any], is_positive: NDArray[np.bool_], region: Region) -> Influence:
    """Compute the influence of each sample on the partial AUC of the region.

    Args:
        scores: Finite scores, shape ``(samples,)``.
        is_positive: Which samples are positives, shape ``(samples,)``; at least two of each class.
        region: The region; it must select samples of both classes.
    """
    x, y = scores[is_positive], scores[~is_positive]
    kept, first, last = region.counts(len(x), len(y))
    bottom, low, high = 1 - kept / len(x), first / len(y), last / len(y)
    size = (1 - bottom) * (high - low)
    g = np.maximum(_share_above(np.sort(x), y) - bottom, 0.0)

    descending = np.argsort(-y, kind="stable")

    def shortfall(count: int) -> tuple[Floats, NDArray[np.bool_]]:
        """A_b of every negative for b = count / n₋, and which negatives it selects."""
        selected = np.zeros(len(y), bool)
        selected[descending[:count]] = True
        at_edge = g[descending[count - 1]] if 0 < count < len(y) else 0.0
        return np.where(selected, g - at_edge, 0.0) + count / len(y) * at_edge, selected

    upper, right = shortfall(last)
    lower, left = shortfall(first)
    of_negatives = (upper - lower) / size
    in_region = np.sort(y[right & ~left & (g > 0)])
    of_positives = (
        (1 - _share_above(in_region, x)) * (len(in_region) / len(y) / size) if len(in_region) else 0 * x
    )
    return Influence(of_positives - of_positives.mean(), of_negatives - of_negatives.mean())


def _share_above(ascending: NDArray[Any], values: NDArray[Any]) -> Floats:
    """The share of ``ascending`` that is above each of the ``values``; equal ones count half."""
    below = np.searchsorted(ascending, values, side="left") + np.searchsorted(ascending, values, side="right")
    result: Floats = 1 - below / (2 * len(ascending))
    return result
