"""Scores, labels and weights from the ways in which XGBoost and LightGBM call an objective or a metric."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.errors import InputError
from pauc_lightning.trees.shares import Floats

Array: TypeAlias = NDArray[Any]
Caller = Literal["xgboost.train", "lightgbm.train", "arrays"]
"""Who passes a data set; ``arrays`` are passed by the scikit-learn classes of both libraries, and by people."""


class Sample(NamedTuple):
    """The rows that a library asks about, checked."""

    scores: Floats
    """The margins (or other scores), shape ``(n,)``."""
    is_positive: NDArray[np.bool_]
    """Which rows are positive, shape ``(n,)``; both kinds occur."""
    weights: Floats | None
    """The rows' weights, shape ``(n,)``; None if there are none."""
    caller: Caller
    """Who asks."""


def read_call(first: Any, second: Any, weights: Any = None, group: Any = None) -> Sample:
    """Tell the calls of the libraries apart, and check what they pass.

    ``xgboost.train`` and ``lightgbm.train`` pass the predictions and a data set with labels, the scikit-learn classes
    of both pass the labels and the predictions.

    Args:
        first: The predictions if ``second`` is a data set, otherwise the labels.
        second: A ``DMatrix``, a ``lightgbm.Dataset``, or the predictions.
        weights: The weights, if the caller passes them.
        group: The sizes of the groups, if the caller passes them.

    Raises:
        InputError: If there is not one finite prediction per row, a label is neither 0 nor 1, a class is missing, a
            weight is negative, or the rows are grouped.
    """
    caller: Caller = "arrays"
    labels, scores = first, second
    if hasattr(second, "get_label"):
        is_xgboost = hasattr(second, "get_uint_info")
        caller = "xgboost.train" if is_xgboost else "lightgbm.train"
        scores, labels, weights = first, second.get_label(), second.get_weight()
        # XGBoost keeps the first row of each group and the number of rows, LightGBM the sizes.
        group = second.get_uint_info("group_ptr")[1:] if is_xgboost else second.get_group()
    if group is not None and len(group) > 1:
        raise InputError(
            f"the partial AUC compares all rows with each other, got {len(group)} groups of rows: leave `group` or "
            "`qid` out of the data set."
        )
    scores = _scores(scores)
    is_positive = _is_positive(labels, len(scores))
    return Sample(scores, is_positive, _weights(weights, is_positive), caller)


def _scores(values: Any) -> Floats:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.ndim != 1:
        raise InputError(
            f"the partial AUC needs one prediction per row, got predictions of shape {scores.shape}: it is for two "
            "classes; leave `num_class` out."
        )
    is_finite = np.isfinite(scores)
    if not is_finite.all():
        raise InputError(
            f"the predictions must be finite, got {int((~is_finite).sum())} NaN or infinite ones among {len(scores)}: "
            "lower the learning rate, or raise the smallest Hessian of a leaf (`min_child_weight`)."
        )
    return scores


def _is_positive(labels: Any, n: int) -> NDArray[np.bool_]:
    if labels is None or (np.size(labels) == 0 and n > 0):
        raise InputError("the data set has no labels: give it labels 0 and 1, `label=y`.")
    values = np.asarray(labels)
    if values.shape != (n,):
        raise InputError(
            f"the labels must be one number per row, got shape {values.shape} for {n} predictions: pass a vector."
        )
    is_positive = np.asarray(values == 1, dtype=np.bool_)
    is_label = is_positive | np.asarray(values == 0, dtype=np.bool_)
    if not is_label.all():
        raise InputError(
            f"the labels must be 0 or 1, got {values[~is_label][0]!s}: pass `labels == positive_class`."
        )
    n_pos = int(is_positive.sum())
    if n_pos in (0, n):
        raise InputError(
            f"the partial AUC compares positives with negatives, got {n_pos} positives and {n - n_pos} negatives: "
            "give the data set rows of both classes."
        )
    return is_positive


def _weights(values: Any, is_positive: NDArray[np.bool_]) -> Floats | None:
    if values is None or np.size(values) == 0:  # XGBoost's way to say that there are none
        return None
    weights = np.asarray(values, dtype=np.float64)
    if weights.shape != is_positive.shape:
        raise InputError(
            f"the weights must be one number per row, got shape {weights.shape} for {len(is_positive)} rows: pass a "
            "vector, or no weights."
        )
    is_right = np.isfinite(weights) & (weights >= 0)
    if not is_right.all():
        raise InputError(
            f"the weights must be finite and not negative, got {weights[~is_right][0]!s}: correct them, or pass no "
            "weights."
        )
    for word, is_class in (("positives", is_positive), ("negatives", ~is_positive)):
        if weights[is_class].sum() == 0:
            raise InputError(f"the weights of all {word} are 0: give some of them a weight above 0.")
    return weights
