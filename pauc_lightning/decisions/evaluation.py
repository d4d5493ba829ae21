"""What a model's scores are worth on a test set: metrics and decisions, each with a confidence interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pauc_lightning.decisions.operating_points import ChosenPoint, Kind, OperatingPoints
from pauc_lightning.metrics.functional import (
    Interval,
    OperatingPointIntervals,
    operating_point_intervals,
    partial_auc_interval,
    tpr_at_fpr_interval,
)
from pauc_lightning.metrics.functional.intervals import IntervalMethod
from pauc_lightning.region import Region


@dataclass(frozen=True)
class MeasuredMetric:
    """A metric with its confidence interval.

    Args:
        name: Its key in files, such as ``opauc_fpr0.3``.
        title: Its title in tables.
        interval: The value and the interval.
    """

    name: str
    title: str
    interval: Interval


@dataclass(frozen=True)
class MeasuredPoint:
    """What a threshold that was chosen elsewhere does on a test set.

    Args:
        chosen: The thresholds for the budget.
        kind: Which of them was applied.
        rates: The false-positive rate, recall and precision that it realises.
    """

    chosen: ChosenPoint
    kind: Kind
    rates: OperatingPointIntervals


@dataclass(frozen=True)
class Evaluation:
    """The metrics and decisions of a model on a test set.

    Args:
        metrics: The partial AUCs, and the recall at false-positive budgets.
        points: What the thresholds do; empty if there are none.
        n_pos: Number of positives.
        n_neg: Number of negatives.
        confidence: Probability with which each interval covers the true value.
    """

    metrics: tuple[MeasuredMetric, ...]
    points: tuple[MeasuredPoint, ...]
    n_pos: int
    n_neg: int
    confidence: float

    def as_json(self) -> dict[str, Any]:
        """The content of a file for programs."""
        return {
            "confidence": self.confidence,
            "n_pos": self.n_pos,
            "n_neg": self.n_neg,
            "metrics": {metric.name: interval_as_json(metric.interval) for metric in self.metrics},
            "operating_points": [
                {
                    "target_fpr": point.chosen.target_fpr,
                    "kind": point.kind,
                    "threshold": point.rates.threshold,
                    "fpr": interval_as_json(point.rates.fpr),
                    "tpr": interval_as_json(point.rates.tpr),
                    "precision": interval_as_json(point.rates.precision),
                }
                for point in self.points
            ],
        }


def evaluate_scores(
    score: ArrayLike,
    label: ArrayLike,
    regions: Sequence[Region] = (Region(),),
    budgets: Sequence[float] = (),
    points: OperatingPoints | None = None,
    *,
    confidence: float = 0.95,
    method: IntervalMethod | None = None,
    groups: ArrayLike | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Evaluation:
    """Measure a model's scores on a test set, with confidence intervals.

    Partial AUCs have analytic intervals (by the bootstrap of groups if there are any), the recall at a budget has one
    by the bootstrap, and what thresholds do has those of Clopper and Pearson.

    Args:
        score: Scores, shape ``(n,)``; higher means more positive.
        label: Labels 0 and 1.
        regions: The regions of the partial AUCs.
        budgets: False-positive rates at which to report the recall.
        points: Thresholds that were chosen on other samples; None for none.
        confidence: Probability with which each interval covers the true value.
        method: How the intervals of partial AUCs are found; None means by the bootstrap with groups, else analytically.
        groups: The group of each sample (a patient, a day), if samples of a group are alike.
        n_resamples: Number of resamples where there are any.
        seed: Seed of the resampling.

    Raises:
        InputError: If scores and labels do not fit together, a class has fewer than two samples, or a region selects
            none.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> label = np.arange(1000) % 5 == 0
        >>> found = evaluate_scores(rng.normal(size=1000) + 2 * label, label, [Region(0.1)])
        >>> print(found.metrics[0].title, found.metrics[0].interval)
        OPAUC (FPR ≤ 0.1) 0.5659 [0.4894, 0.6393]
    """
    options: dict[str, Any] = {
        "confidence": confidence,
        "groups": groups,
        "n_resamples": n_resamples,
        "seed": seed,
    }
    scores, labels = np.asarray(score, np.float64).ravel(), np.asarray(label).ravel()
    method = method or ("analytic" if groups is None else "bootstrap")
    metrics = [_partial_auc(scores, labels, region, method, options) for region in regions]
    metrics += [
        MeasuredMetric(
            f"tpr_at_fpr{budget:g}",
            f"TPR at FPR ≤ {budget:g}",
            tpr_at_fpr_interval(scores, labels, budget, **options),
        )
        for budget in budgets
    ]
    measured = [
        MeasuredPoint(
            chosen,
            chosen.kind,
            operating_point_intervals(scores, labels, chosen.point.threshold, **options),
        )
        for chosen in (points.points if points is not None else ())
    ]
    n_pos = int((labels == 1).sum())
    return Evaluation(tuple(metrics), tuple(measured), n_pos, len(labels) - n_pos, confidence)


def _partial_auc(
    scores: NDArray[Any],
    labels: NDArray[Any],
    region: Region,
    method: IntervalMethod,
    options: dict[str, Any],
) -> MeasuredMetric:
    interval = partial_auc_interval(
        scores,
        labels,
        region.max_fpr,
        region.min_tpr,
        region.min_fpr,
        method=method,
        **options,
    )
    return MeasuredMetric(region.name, region.title, interval)


def interval_as_json(interval: Interval) -> dict[str, float | None]:
    """An interval for a file; JSON has no NaN, so what is not defined becomes null."""
    names = ("value", "low", "high", "standard_error")
    return {name: None if math.isnan(getattr(interval, name)) else getattr(interval, name) for name in names}
