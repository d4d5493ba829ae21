"""The risk of a region as a plain sum over pairs, written without any of the package's code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LOSSES: dict[str, Callable[[Floats], Floats]] = {
    "logistic": lambda s: np.logaddexp(0, -s),
    "squared_hinge": lambda s: np.square(np.maximum(0, 1 - s)),
}
SLOPES: dict[str, Callable[[Floats], Floats]] = {
    "logistic": lambda s: -1 / (1 + np.exp(s)),
    "squared_hinge": lambda s: np.minimum(0.0, 2 * (s - 1)),
}
CURVATURES: dict[str, Callable[[Floats], Floats]] = {
    "logistic": lambda s: np.exp(s) / (1 + np.exp(s)) ** 2,
    "squared_hinge": lambda s: np.where(s < 1, 2.0, 0.0),
}


def greedy_shares(order: NDArray[np.int64], weights: Floats, budget: float) -> Floats:
    """Fill a budget of weight in the given order, the last one in part."""
    shares = np.zeros(len(weights))
    for i in order:
        shares[i] = min(1.0, max(0.0, budget / weights[i]))
        budget -= weights[i] * shares[i]
    return shares


def risk(
    z: Floats,
    is_positive: NDArray[np.bool_],
    surrogate: str,
    max_fpr: float,
    min_tpr: float = 0.0,
    weights: Floats | None = None,
) -> float:
    """Mean loss of the lowest 1 − min_tpr of the positives and the highest max_fpr of the negatives, times the former.

    The selection follows the scores, so the risk's numerical derivative knows about its changes.
    """
    w = np.ones(len(z)) if weights is None else weights
    z_pos, z_neg, w_pos, w_neg = z[is_positive], z[~is_positive], w[is_positive], w[~is_positive]
    u = w_pos * greedy_shares(np.argsort(z_pos), w_pos, (1 - min_tpr) * w_pos.sum())
    v = w_neg * greedy_shares(np.argsort(-z_neg), w_neg, max_fpr * w_neg.sum())
    return float(u @ LOSSES[surrogate](z_pos[:, None] - z_neg) @ (v / v.sum()))
