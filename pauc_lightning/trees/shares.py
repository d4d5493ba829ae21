"""How much of each instance a region of the ROC curve holds, where instances with equal scores share alike."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.region import Region

Floats: TypeAlias = NDArray[np.float64]

_ROUNDING = 1e-12


def positive_shares(scores: Floats, weights: Floats, region: Region) -> Floats:
    """The share of each positive inside the region: the lowest-scored 1 − ``min_tpr`` of their weight.

    Args:
        scores: Scores of the positives, shape ``(n,)``.
        weights: Their weights, shape ``(n,)``, with a sum above 0.
        region: The region.
    """
    return 1 - _highest(scores, weights, region.min_tpr)


def negative_shares(scores: Floats, weights: Floats, region: Region) -> Floats:
    """The share of each negative inside the region: between ``min_fpr`` and ``max_fpr`` of their weight from the top.

    The predictions of trees are full of ties. Negatives that tie at the edge of the region share what is left of it,
    so that the order of the rows does not matter. Before the first tree all scores are equal, and every negative is
    inside with a share of ``max_fpr``: training starts with the whole AUC.

    Args:
        scores: Scores of the negatives, shape ``(n,)``.
        weights: Their weights, shape ``(n,)``, with a sum above 0.
        region: The region.

    Example:
        >>> negative_shares(np.array([3.0, 1.0, 2.0, 2.0]), np.ones(4), Region(max_fpr=0.5))
        array([1. , 0. , 0.5, 0.5])
    """
    return _highest(scores, weights, region.max_fpr) - _highest(scores, weights, region.min_fpr)


def _highest(scores: Floats, weights: Floats, fraction: float) -> Floats:
    """The share of each instance in the given fraction of the total weight, from the highest score down."""
    if fraction <= 0 or fraction >= 1:
        return np.full(len(scores), float(fraction >= 1))
    order = np.argsort(-scores)
    reached = np.cumsum(weights[order])
    wanted = fraction * reached[-1]
    last = np.searchsorted(reached, wanted * (1 - _ROUNDING))  # 0.1 of 10 instances is one, not one and a bit
    edge = scores[order[last]]
    above, tied = scores > edge, scores == edge
    shares: Floats = above.astype(np.float64)
    shares[tied] = np.clip((wanted - weights[above].sum()) / weights[tied].sum(), 0, 1)
    return shares
