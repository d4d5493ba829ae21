"""Log-odds of scores and of priors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SMALLEST = float(np.finfo(np.float64).tiny)
HIGHEST_SCORE = float(np.nextafter(1.0, 0.0))
"""The largest score below 1."""

LOWEST_LOGIT = float(np.log(_SMALLEST))
"""The logit of a score of 0: the sigmoid of lower ones cannot be told from it in float64."""
HIGHEST_LOGIT = float(np.log(HIGHEST_SCORE) - np.log1p(-HIGHEST_SCORE))
"""The logit of a score of 1: the sigmoid of higher ones cannot be told from it in float64."""


def log_odds(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logits whose sigmoid the scores are; 0 and 1 count as the nearest numbers inside.

    Example:
        >>> log_odds(np.array([0.5, 0.9])).round(4).tolist()
        [0.0, 2.1972]
        >>> log_odds(np.array([0.0, 1.0])).round(1).tolist()
        [-708.4, 36.7]
    """
    inside = np.clip(scores, _SMALLEST, HIGHEST_SCORE)
    logits: NDArray[np.float64] = np.log(inside) - np.log1p(-inside)
    return logits


def logits_to_fit(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logits for a fit, bounded alike on both sides, so that a single score of 0 does not decide it.

    Example:
        >>> logits_to_fit(np.array([0.0, 0.5, 1.0])).round(1).tolist()
        [-36.7, 0.0, 36.7]
    """
    return np.clip(log_odds(scores), -HIGHEST_LOGIT, HIGHEST_LOGIT)


def sigmoid(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1/(1 + exp(-logit)) without overflow.

    Example:
        >>> sigmoid(np.array([-1000.0, 0.0, 2.0])).round(4).tolist()
        [0.0, 0.5, 0.8808]
    """
    small = np.exp(-np.abs(logits))
    values: NDArray[np.float64] = np.where(logits >= 0, 1.0, small) / (1.0 + small)
    return values


def prior_log_odds(prior: float) -> float:
    """Return the log-odds of a fraction of positives."""
    return float(np.log(prior) - np.log1p(-prior))
