"""Thresholds: the recall at a false-positive budget, and thresholds that keep the budget on new data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pauc_lightning.arguments import check_integer, check_number
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.binomial import binomial_interval
from pauc_lightning.metrics.functional.inputs import Values, as_tensors, check_groups, check_tensors
from pauc_lightning.metrics.functional.interval import Interval
from pauc_lightning.region import select_count


@dataclass(frozen=True)
class OperatingPointIntervals:
    """What a threshold does, with confidence intervals.

    Args:
        threshold: Scores of at least this are called positive.
        fpr: Share of the negatives that are called positive.
        tpr: Share of the positives that are called positive; the recall.
        precision: Share of positives among those called positive; NaN in [0, 1] if nothing is.
    """

    threshold: float
    fpr: Interval
    tpr: Interval
    precision: Interval


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
    negatives = scores[~is_positive]
    first_beyond = len(negatives) - select_count(len(negatives), max_fpr) - 1
    # Only scores above the first negative beyond the budget are within it, as a threshold takes all equal scores.
    within = scores[is_positive]
    if first_beyond >= 0:
        within = within[within > np.partition(negatives, first_beyond)[first_beyond]]
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


def operating_point_intervals(
    preds: Values,
    target: Values,
    threshold: float,
    *,
    confidence: float = 0.95,
    groups: ArrayLike | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
) -> OperatingPointIntervals:
    """Evaluate a threshold on samples, with confidence intervals.

    The threshold must not have been chosen on these samples. Its rates are then shares of independent samples, and the
    intervals those of Clopper and Pearson (:func:`binomial_interval`), the precision's given the number of samples that
    are called positive. With ``groups``, whole groups are resampled, and the wider end of both intervals is taken.

    Args:
        preds: Finite scores, any shape; higher means more positive.
        target: Labels 0 and 1, of the shape of ``preds``.
        threshold: Scores of at least this are called positive.
        confidence: Probability with which each interval covers the true rate.
        groups: The group of each sample (a patient, a day), if samples of a group are alike.
        n_resamples: Number of resamples of the groups.
        seed: Seed of the resampling.

    Example:
        >>> print(operating_point_intervals([0.9, 0.8, 0.7], [1, 0, 1], threshold=0.75).tpr)
        0.5000 [0.0126, 0.9874]
    """
    scores, is_positive = _samples(preds, target)
    is_called = scores >= threshold
    parts = np.stack([is_called & is_positive, is_positive, is_called & ~is_positive, ~is_positive])
    found, n_pos, false, n_neg = parts.sum(axis=1).tolist()
    intervals = [
        binomial_interval(successes, n, confidence=confidence)
        for successes, n in ((false, n_neg), (found, n_pos), (found, found + false))
    ]
    if groups is not None:
        names = check_groups(groups, len(scores))
        draws = _rates_of_resampled_groups(parts, names, n_resamples, seed)
        intervals = [_widened(one, values) for one, values in zip(intervals, draws, strict=True)]
    return OperatingPointIntervals(float(threshold), *intervals)


def _rates_of_resampled_groups(
    parts: NDArray[np.bool_], names: NDArray[Any], n_resamples: int, seed: int
) -> tuple[NDArray[np.float64], ...]:
    """The false-positive rates, recalls and precisions of resamples of whole groups."""
    check_integer("n_resamples", n_resamples, at_least=100)
    check_integer("seed", seed, at_least=0)
    _, group_of = np.unique(names, return_inverse=True)
    n_groups = int(group_of.max()) + 1
    counts = np.stack([np.bincount(group_of, part, n_groups) for part in parts])
    rng = np.random.default_rng(seed)
    drawn = np.stack(
        [counts @ rng.multinomial(n_groups, np.full(n_groups, 1 / n_groups)) for _ in range(n_resamples)]
    )
    found, n_pos, false, n_neg = drawn.T
    with np.errstate(invalid="ignore"):  # a resample may lack a class, or call nothing positive
        return false / n_neg, found / n_pos, found / (found + false)


def _widened(interval: Interval, draws: NDArray[np.float64]) -> Interval:
    """The interval, as wide at each end as the percentiles of the draws."""
    known = draws[~np.isnan(draws)]
    if len(known) == 0:
        return interval
    tail = (1 - interval.confidence) / 2
    low, high = np.quantile(known, [tail, 1 - tail]).tolist()
    return Interval(
        interval.value,
        min(low, interval.low),
        max(high, interval.high),
        max(float(np.std(known)), interval.standard_error),
        interval.confidence,
    )


def threshold_for_fpr(negatives: Values, max_fpr: float, *, confidence: float | None = 0.95) -> float:
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
        confidence: Probability with which the budget is kept, in (0, 1). None asks for no guarantee: the lowest
            threshold that keeps the budget on these negatives, which new data exceed about half of the time.

    Returns:
        The threshold: call scores of at least this positive.

    Raises:
        InputError: If there are too few negatives for the guarantee; the sentence names the number needed.

    Example:
        >>> threshold = threshold_for_fpr(np.arange(1000) / 1000, max_fpr=0.1)
        >>> f"{threshold:.3f}"  # the margin to the empirical one is the price of the guarantee
        '0.915'
        >>> f"{threshold_for_fpr(np.arange(1000) / 1000, max_fpr=0.1, confidence=None):.3f}"
        '0.899'
    """
    check_number("max_fpr", max_fpr, above=0, below=1, hint="for 1 % write 0.01")
    scores = _scores(negatives)
    n = len(scores)
    if confidence is None:
        if n == 0:
            raise InputError("`negatives` is empty: give the scores of at least one negative.")
        k = max(1, n - select_count(n, max_fpr))
    else:
        needed = negatives_needed(max_fpr, confidence=confidence)
        if n < needed:
            raise InputError(
                f"`negatives`: {n} scores are too few to keep max_fpr={max_fpr:g} with probability {confidence:g}; it "
                f"takes at least {needed}. Collect more negatives, raise max_fpr, or ask for no guarantee "
                "(confidence=None)."
            )
        k = _smallest_rank(n, max_fpr, confidence)
    return float(np.nextafter(np.partition(scores, k - 1)[k - 1], np.inf))


def negatives_needed(max_fpr: float, *, confidence: float = 0.95) -> int:
    """The least number of negatives from which :func:`threshold_for_fpr` can give its guarantee.

    With n of them, the highest score is below the budget's quantile with probability (1 - ``max_fpr``)ⁿ.

    Args:
        max_fpr: The budget, in (0, 1).
        confidence: Probability with which it is kept, in (0, 1).

    Example:
        >>> negatives_needed(0.01), negatives_needed(0.05)
        (299, 59)
    """
    check_number("max_fpr", max_fpr, above=0, below=1, hint="for 1 % write 0.01")
    check_number("confidence", confidence, above=0, below=1, hint="95 % is 0.95")
    return math.ceil(math.log1p(-confidence) / math.log1p(-max_fpr))


def _smallest_rank(n: int, max_fpr: float, confidence: float) -> int:
    """The smallest k for which at least k of n negatives lie below the quantile with probability ≤ 1 - confidence."""
    from scipy.stats import binom  # slow to import

    k = int(binom.ppf(confidence, n, 1 - max_fpr)) + 1
    while k > 1 and binom.sf(k - 2, n, 1 - max_fpr) <= 1 - confidence:
        k -= 1
    while binom.sf(k - 1, n, 1 - max_fpr) > 1 - confidence and k < n:  # ppf may be off by its rounding
        k += 1
    return k


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
