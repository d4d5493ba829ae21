"""Logistic regression of a few parameters with soft labels and an offset, by Newton's method.

scikit-learn's LogisticRegression has neither soft labels nor an offset, which the fits here need.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.calibration.log_odds import sigmoid

_MOST_STEPS = 100
_SHORTEST = 1e-10
_PRECISION = 1e-12


def fit_logistic(
    columns: NDArray[np.float64], labels: NDArray[np.float64], offset: float = 0.0
) -> NDArray[np.float64]:
    """Return the weights w that minimise the cross-entropy of sigmoid(columns·w + offset).

    Args:
        columns: Shape ``(samples, parameters)``; of similar scales.
        labels: Probabilities strictly between 0 and 1, shape ``(samples,)``, so that the minimum is finite.
        offset: A constant that is added to the logits.

    Returns:
        The weights, shape ``(parameters,)``.
    """
    weights = np.zeros(columns.shape[1])
    value = _cross_entropy(columns @ weights + offset, labels)
    for _ in range(_MOST_STEPS):
        predicted = sigmoid(columns @ weights + offset)
        gradient = columns.T @ (predicted - labels) / len(labels)
        curvature = (columns * (predicted * (1 - predicted))[:, None]).T @ columns / len(labels)
        ridge = _PRECISION * max(float(np.trace(curvature)), np.finfo(np.float64).tiny)
        step = np.linalg.solve(curvature + ridge * np.eye(len(weights)), gradient)
        slope, length = float(gradient @ step), 1.0
        # The cross-entropy is convex, but a full step may overshoot where the sigmoids are flat.
        while length > _SHORTEST:
            tried = weights - length * step
            new_value = _cross_entropy(columns @ tried + offset, labels)
            if new_value <= value - 1e-4 * length * slope:
                break
            length /= 2
        else:
            return weights  # no step improves: rounding is all that is left
        weights, value = tried, new_value
        if slope < _PRECISION * max(value, _PRECISION):
            return weights
    return weights


def soft_labels(is_positive: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return Platt's labels (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2), which keep the fit finite when the classes separate.

    Example:
        >>> soft_labels(np.array([True, False, False])).round(3).tolist()
        [0.667, 0.25, 0.25]
    """
    n_pos = int(is_positive.sum())
    n_neg = len(is_positive) - n_pos
    return np.where(is_positive, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))


def _cross_entropy(logits: NDArray[np.float64], labels: NDArray[np.float64]) -> float:
    return float((np.logaddexp(0.0, logits) - labels * logits).mean())
