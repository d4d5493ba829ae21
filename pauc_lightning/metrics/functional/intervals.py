"""Confidence intervals of the partial AUC and of the true-positive rate at a false-positive rate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import NormalDist
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pauc_lightning.arguments import check_choice, check_integer, check_number
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.bootstrap import resampled, resampled_together
from pauc_lightning.metrics.functional.cells import Cells, Counts, areas, highest_tpr
from pauc_lightning.metrics.functional.influence import influence
from pauc_lightning.metrics.functional.inputs import Values, as_tensors, check_groups, check_tensors
from pauc_lightning.metrics.functional.interval import Interval
from pauc_lightning.metrics.functional.partial_auc import binary_partial_auc
from pauc_lightning.metrics.functional.wilson import wilson_interval
from pauc_lightning.region import Region, select_count

IntervalMethod = Literal["analytic", "bootstrap"]


def partial_auc_interval(
    preds: Values,
    target: Values,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    min_fpr: float = 0.0,
    *,
    confidence: float = 0.95,
    method: IntervalMethod = "analytic",
    groups: ArrayLike | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Compute the partial AUC and its confidence interval.

    ``"analytic"`` takes the variance from the influence of each sample, which is instantaneous. ``"bootstrap"`` takes
    it from resamples of the data, each class drawn to its own size. Both build the interval on the logit scale, which
    keeps it inside (0, 1) and fits its skewness; percentiles of the resamples cover less often. In simulations both
    cover the true value in 93 to 97 % of the cases, except where only a handful of samples decide: a value near 0 or
    1, or a region that keeps a dozen positives. There the intervals are too short.

    Args:
        preds: Finite scores, any shape; higher means more positive.
        target: Labels 0 and 1, of the shape of ``preds``.
        max_fpr: Largest false-positive rate that counts.
        min_tpr: Smallest true-positive rate that counts.
        min_fpr: Smallest false-positive rate that counts.
        confidence: Probability with which the interval covers the true value.
        method: ``"analytic"`` or ``"bootstrap"``.
        groups: The group of each sample (a patient, a day), if samples of a group are alike: whole groups are
            resampled. With ``"bootstrap"`` only.
        n_resamples: Number of resamples.
        seed: Seed of the resampling.

    Returns:
        The estimate, equal to :func:`binary_partial_auc`, and its interval.

    Raises:
        InputError: As :func:`binary_partial_auc`, and with fewer than two samples or groups of a class.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> target = np.arange(1000) % 5 == 0
        >>> print(partial_auc_interval(rng.normal(size=1000) + 2 * target, target, max_fpr=0.1))
        0.5659 [0.4894, 0.6393]
    """
    region = Region(max_fpr, min_tpr, min_fpr)
    value = float(binary_partial_auc(preds, target, max_fpr, min_tpr, min_fpr))
    (scores,), is_positive = _samples([preds], target)
    names = _checked(confidence, method, groups, n_resamples, seed, is_positive)
    kept, first, last = region.counts(int(is_positive.sum()), int((~is_positive).sum()))
    decisive = min(kept, last - first)
    if method == "analytic":
        error = influence(scores, is_positive, region).standard_error
        return _on_logit_scale(value, error, confidence, decisive)
    cells = Cells.of(scores, is_positive)
    if names is None:
        draws = resampled(cells, partial(_values, region=region), n_resamples, seed, region)
    else:
        draws = resampled_together(
            [cells],
            is_positive,
            names,
            lambda curves: _values(*curves[0], region=region),
            n_resamples,
            seed,
            region,
        )
        decisive = min(decisive, *(len(np.unique(names[own])) for own in (is_positive, ~is_positive)))
    return _on_logit_scale(value, float(np.std(_known(draws), ddof=1)), confidence, decisive)


def partial_auc_difference(
    preds: Values,
    other_preds: Values,
    target: Values,
    max_fpr: float = 1.0,
    min_tpr: float = 0.0,
    min_fpr: float = 0.0,
    *,
    confidence: float = 0.95,
    method: IntervalMethod = "analytic",
    groups: ArrayLike | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Compare two models on the same samples: the difference of their partial AUCs and its confidence interval.

    The comparison is paired: a sample that is hard for both models does not count as a difference.

    Args:
        preds: Scores of the first model.
        other_preds: Scores of the second model, which is subtracted.
        target: Labels 0 and 1.
        max_fpr: Largest false-positive rate that counts.
        min_tpr: Smallest true-positive rate that counts.
        min_fpr: Smallest false-positive rate that counts.
        confidence: Probability with which the interval covers the true difference.
        method: ``"analytic"`` or ``"bootstrap"``, see :func:`partial_auc_interval`.
        groups: The group of each sample, see :func:`partial_auc_interval`.
        n_resamples: Number of resamples.
        seed: Seed of the resampling.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> target = np.arange(1000) % 5 == 0
        >>> good = rng.normal(size=1000) + 2 * target
        >>> difference = partial_auc_difference(good, good + rng.normal(size=1000), target, max_fpr=0.1)
        >>> difference.excludes_zero
        True
    """
    region = Region(max_fpr, min_tpr, min_fpr)
    first, second = (
        float(binary_partial_auc(scores, target, max_fpr, min_tpr, min_fpr))
        for scores in (preds, other_preds)
    )
    samples, is_positive = _samples([preds, other_preds], target)
    names = _checked(confidence, method, groups, n_resamples, seed, is_positive)
    value = first - second
    if method == "analytic":
        one, other = (influence(scores, is_positive, region) for scores in samples)
        error = (one - other).standard_error
        reach = _quantile(confidence) * error
        return Interval(value, value - reach, value + reach, error, confidence)

    def difference(curves: Sequence[tuple[Counts, Counts]]) -> NDArray[np.float64]:
        one, other = (_values(*counts, region=region) for counts in curves)
        return one - other

    steps = [Cells.of(scores, is_positive) for scores in samples]
    draws = resampled_together(steps, is_positive, names, difference, n_resamples, seed, region)
    return _percentiles(value, draws, confidence)


def tpr_at_fpr_interval(
    preds: Values,
    target: Values,
    max_fpr: float,
    *,
    confidence: float = 0.95,
    groups: ArrayLike | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Compute the largest true-positive rate within a false-positive budget, and its interval.

    The variance comes from the bootstrap, the interval is Wilson's for a share with that variance: percentiles of the
    resamples collapse where nearly all positives are found.

    Args:
        preds: Finite scores, any shape; higher means more positive.
        target: Labels 0 and 1, of the shape of ``preds``.
        max_fpr: The budget.
        confidence: Probability with which the interval covers the true rate.
        groups: The group of each sample, see :func:`partial_auc_interval`.
        n_resamples: Number of resamples.
        seed: Seed of the resampling.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> target = np.arange(1000) % 5 == 0
        >>> print(tpr_at_fpr_interval(rng.normal(size=1000) + 2 * target, target, max_fpr=0.1))
        0.7500 [0.6549, 0.8259]
    """
    region = Region(max_fpr)
    (scores,), is_positive = _samples([preds], target)
    names = _checked(confidence, "bootstrap", groups, n_resamples, seed, is_positive)
    cells = Cells.of(scores, is_positive)
    statistic = partial(_rates, max_fpr=max_fpr)
    value = float(statistic(cells.positives[None], cells.negatives[None])[0])
    if names is None:
        draws = resampled(cells, statistic, n_resamples, seed, region)
    else:
        draws = resampled_together(
            [cells], is_positive, names, lambda curves: statistic(*curves[0]), n_resamples, seed, region
        )
    error = float(np.std(_known(draws), ddof=1))
    independent = int(is_positive.sum()) if names is None else len(np.unique(names[is_positive]))
    low, high = wilson_interval(value, error**2, independent, confidence)
    return Interval(value, float(low), float(high), error, confidence)


def _values(positives: Counts, negatives: Counts, region: Region) -> NDArray[np.float64]:
    """The partial AUCs of many curves."""
    n_pos, n_neg = positives.sum(axis=1, keepdims=True), negatives.sum(axis=1, keepdims=True)
    sizes = [region.counts(p, n) for p, n in zip(n_pos[:, 0].tolist(), n_neg[:, 0].tolist(), strict=True)]
    kept, first, last = (column[:, None] for column in np.array(sizes).T)
    with np.errstate(invalid="ignore"):  # a resample of groups may lack a class
        result: NDArray[np.float64] = (
            areas(positives, negatives, n_pos - kept, first, last) / (kept * (last - first)).ravel()
        )
    return result


def _rates(positives: Counts, negatives: Counts, max_fpr: float) -> NDArray[np.float64]:
    """The largest true-positive rates of many curves within the budget."""
    n_neg = negatives.sum(axis=1)
    most = np.array([[select_count(n, max_fpr)] for n in n_neg.tolist()])
    with np.errstate(invalid="ignore"):  # a resample of groups may lack a class
        rates = highest_tpr(positives, negatives, most)
    return np.where(n_neg > 0, rates, np.nan)


def _samples(preds: Sequence[Values], target: Values) -> tuple[list[NDArray[Any]], NDArray[np.bool_]]:
    arrays = []
    for given in preds:
        scores, labels = as_tensors(given, target)
        check_tensors(scores, labels)
        arrays.append(scores.detach().flatten().double().cpu().numpy())
    is_positive = labels.detach().flatten().cpu().numpy() == 1
    for name, count in (("positives", is_positive.sum()), ("negatives", (~is_positive).sum())):
        if count < 2:
            raise InputError(
                f"`target` must hold at least two samples of each class for an interval, got {count} {name}: collect "
                "more samples."
            )
    return arrays, is_positive


def _checked(
    confidence: float,
    method: IntervalMethod,
    groups: ArrayLike | None,
    n_resamples: int,
    seed: int,
    is_positive: NDArray[np.bool_],
) -> NDArray[Any] | None:
    """Check the arguments and return the groups."""
    check_number("confidence", confidence, above=0, below=1, hint="95 % is 0.95")
    check_choice("method", method, get_args(IntervalMethod))
    check_integer("n_resamples", n_resamples, at_least=100)
    check_integer("seed", seed, at_least=0)
    if groups is None:
        return None
    if method == "analytic":
        raise InputError(
            '`groups` need `method="bootstrap"`, got "analytic", which takes samples as independent.'
        )
    names = check_groups(groups, len(is_positive))
    for name, own in (("positives", is_positive), ("negatives", ~is_positive)):
        if len(np.unique(names[own])) < 2:
            raise InputError(
                f"`groups` must spread each class over at least two groups for an interval, got all {own.sum()} {name} "
                f"in the group {names[own][0]!s}: how much groups differ cannot be seen. Collect more groups, or check "
                "that `groups` is not the label or a constant."
            )
    return names


def _quantile(confidence: float) -> float:
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def _on_logit_scale(value: float, error: float, confidence: float, decisive: int) -> Interval:
    """The interval of a normal logit.

    At 0 and 1 the logit is infinite and the estimated error zero. There the interval is that of a share of which all of
    the ``decisive`` samples, the rarer selected class, agree: three in n at 95 % on one side.
    """
    if not 0 < value < 1:
        unlikely = ((1 - confidence) / 2) ** (1 / decisive)
        low, high = (unlikely, 1.0) if value == 1 else (0.0, 1 - unlikely)
        return Interval(value, low, high, error, confidence)
    centre, reach = np.log(value / (1 - value)), _quantile(confidence) * error / (value * (1 - value))
    low, high = (float(1 / (1 + np.exp(-end))) for end in (centre - reach, centre + reach))
    return Interval(value, low, high, error, confidence)


def _percentiles(value: float, draws: NDArray[np.float64], confidence: float) -> Interval:
    known = _known(draws)
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(value, float(low), float(high), float(np.std(known, ddof=1)), confidence)


def _known(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """The draws that have a value: a resample of groups may lack a class."""
    known = draws[~np.isnan(draws)]
    if len(known) < len(draws) / 2:
        raise InputError(
            f"{len(draws) - len(known)} of {len(draws)} resamples lack a class or a sample in the region: there are "
            "too few groups for an interval."
        )
    return known
