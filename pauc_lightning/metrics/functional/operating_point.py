"""Thresholds: the recall at a false-positive budget, and thresholds that keep the budget on new data."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.arguments import check_number
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.inputs import Values, as_tensors, check_tensors
from pauc_lightning.region import select_count


class OperatingPoint(NamedTuple):
    """What a threshold does: scores of at least ``threshold`` are called positive.

    Attributes:
        threshold: The smallest score that is called positive; infinite if none is.
        fpr: Share of the negatives that are called positive.
        tpr: Share of the positives that are called positive; the recall.
        precision: Share of positives among those called positive; NaN if nothing is.
    """

    threshold: float
    fpr: float
    tpr: float
    precision: float


def tpr_at_fpr(preds: Values, target: Values, max_fpr: float) -> OperatingPoint:
    """Find the threshold with the largest recall within a false-positive budget.

    Of the thresholds that call at most ⌊n₋·max_fpr⌋ negatives positive, it is the lowest that is a score of a positive;
    lower ones find no more.

    Args:
        preds: Finite scores, any shape; higher means more positive. A tensor, a numpy array, a list or a Series.
        target: Labels 0 and 1, of the shape of ``preds``.
        max_fpr: The budget: the largest false-positive rate, in [0, 1].

    Returns:
        The threshold, with the false-positive rate, recall and precision on these samples. On other samples the
        false-positive rate may exceed the budget; :func:`threshold_for_fpr` keeps it with a guarantee.

    Raises:
        InputError: If ``max_fpr`` is out of range, scores and labels do not fit together, or a class is missing.

    Example:
        >>> tpr_at_fpr([0.9, 0.8, 0.7, 0.6, 0.5], [1, 0, 1, 1, 0], max_fpr=0.5)
        OperatingPoint(threshold=0.6, fpr=0.5, tpr=1.0, precision=0.75)
    """
    check_number("max_fpr", max_fpr, at_least=0, at_most=1, hint="for 1 % write 0.01")
    scores, is_positive = _samples(preds, target)
    negatives = np.sort(scores[~is_positive])[::-1]
    most = select_count(len(negatives), max_fpr)
    # Only scores above the first negative beyond the budget are within it, as a threshold takes all equal scores.
    within = scores[is_positive]
    if most < len(negatives):
        within = within[within > negatives[most]]
    return operating_point(scores, is_positive, float(within.min()) if len(within) else math.inf)


def operating_point(preds: Values, target: Values, threshold: float) -> OperatingPoint:
    """Evaluate a threshold on samples.

    Args:
        preds: Finite scores, any shape; higher means more positive.
        target: Labels 0 and 1, of the shape of ``preds``.
        threshold: Scores of at least this are called positive.

    Example:
        >>> operating_point([0.9, 0.8, 0.7], [1, 0, 1], threshold=0.75)
        OperatingPoint(threshold=0.75, fpr=1.0, tpr=0.5, precision=0.5)
    """
    scores, is_positive = _samples(preds, target)
    is_called = scores >= threshold
    called = int(is_called.sum())
    found = int((is_called & is_positive).sum())
    n_pos = int(is_positive.sum())
    return OperatingPoint(
        threshold=float(threshold),
        fpr=(called - found) / (len(scores) - n_pos),
        tpr=found / n_pos,
        precision=found / called if called else math.nan,
    )


def threshold_for_fpr(negatives: Values, max_fpr: float, *, confidence: float = 0.95) -> float:
    r"""Choose a threshold whose false-positive rate on new data is at most ``max_fpr``, with a guarantee.

    The threshold lies just above the k-th smallest score of the n negatives. It exceeds the budget with a probability
    of at most :math:`\sum_{j \ge k} \binom{n}{j} (1-\text{max\_fpr})^j \,\text{max\_fpr}^{\,n-j}` over the draw of the
    negatives, whatever the distribution of the scores; k is the smallest number for which that is at most
    1 - ``confidence``.

    Reference: Tong, Feng and Li, *Neyman-Pearson classification algorithms and NP receiver operating characteristics*,
    Science Advances 4(2), 2018, https://doi.org/10.1126/sciadv.aao1659.

    Args:
        negatives: Finite scores of negatives that the model was not trained on, such as those of the validation part.
        max_fpr: The budget: the largest false-positive rate on new data, in (0, 1).
        confidence: Probability with which the budget is kept, in (0, 1).

    Returns:
        The threshold: call scores of at least this positive.

    Raises:
        InputError: If there are too few negatives for the guarantee; the sentence names the number needed.

    Example:
        >>> threshold = threshold_for_fpr(np.arange(1000) / 1000, max_fpr=0.1)
        >>> f"{threshold:.3f}"  # the empirical one is 0.900; the margin is the price of the guarantee
        '0.915'
    """
    from scipy.stats import binom  # slow to import

    check_number("max_fpr", max_fpr, above=0, below=1, hint="for 1 % write 0.01")
    check_number("confidence", confidence, above=0, below=1, hint="95 % is 0.95")
    scores = np.sort(_scores(negatives))
    n, risk = len(scores), 1 - confidence
    needed = math.ceil(math.log(risk) / math.log1p(-max_fpr))
    if n < needed:
        raise InputError(
            f"`negatives`: {n} scores are too few to keep max_fpr={max_fpr:g} with probability {confidence:g}; it "
            f"takes at least {needed}. Collect more negatives, raise max_fpr, or use tpr_at_fpr."
        )
    exceeds = binom.sf(
        np.arange(n), n, 1 - max_fpr
    )  # for k = 1, ..., n: P(at least k of n below the quantile)
    k = int(np.argmax(exceeds <= risk)) + 1
    return float(np.nextafter(scores[k - 1], np.inf))


def _samples(preds: Values, target: Values) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    scores, labels = as_tensors(preds, target)
    check_tensors(scores, labels)
    is_positive = labels.detach().flatten().cpu().numpy() == 1
    if not 0 < is_positive.sum() < len(is_positive):
        missing = "positive" if not is_positive.any() else "negative"
        raise InputError(
            f"`target` must contain both classes, got no {missing} among {len(is_positive)} labels: collect more "
            "samples."
        )
    return scores.detach().flatten().double().cpu().numpy(), is_positive


def _scores(negatives: Values) -> NDArray[Any]:
    scores, _ = as_tensors(negatives, [])
    check_tensors(scores, scores.new_zeros(scores.shape))
    return scores.detach().flatten().double().cpu().numpy()
