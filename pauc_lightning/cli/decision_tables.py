"""Tables of metrics and decisions with their confidence intervals, as text."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

from pauc_lightning.decisions.evaluation import Evaluation, MeasuredPoint
from pauc_lightning.decisions.operating_points import ChosenPoint, OperatingPoints, threshold_text
from pauc_lightning.metrics.functional import Interval, OperatingPoint


def metric_lines(evaluation: Evaluation, optimised: str | None = None) -> Iterator[str]:
    """Yield the table of the metrics between two lines.

    Args:
        evaluation: What was measured.
        optimised: The name of the metric that the model was trained for, which is marked.
    """
    width = max(len(metric.title) for metric in evaluation.metrics)
    rule = "─" * (width + 28)
    yield rule
    yield f"{'':<{width}}     value  {_level(evaluation.confidence)}"
    for metric in evaluation.metrics:
        mark = "  ◂ optimised" if metric.name == optimised else ""
        yield f"{metric.title:<{width}}  {metric.interval.value:8.4f}  {_ends(metric.interval)}{mark}"
    yield rule


def point_lines(points: Sequence[MeasuredPoint], confidence: float, where: str) -> Iterator[str]:
    """Yield the table of what thresholds do on a test set, and why some have no guarantee.

    Args:
        points: What was measured.
        confidence: Probability with which each interval covers the true rate.
        where: Where the thresholds were chosen, as in "the validation part".
    """
    yield f"Decisions (score ≥ threshold) by thresholds chosen on {where}, with {_level(confidence)}s"
    yield f"{'wanted':<12} {'threshold':<23} {'FPR here':<24} {'TPR (recall)':<24} precision"
    for point in points:
        rates = point.rates
        wanted, threshold = (
            f"FPR ≤ {point.chosen.target_fpr:g}",
            f"{threshold_text(rates.threshold)} {point.kind}",
        )
        yield (
            f"{wanted:<12} {threshold:<23} {_share(rates.fpr):<24} {_share(rates.tpr):<24} "
            f"{_share(rates.precision)}"
        )
    yield "─" * 113
    yield from without_guarantee([point.chosen for point in points])


def chosen_lines(points: OperatingPoints) -> Iterator[str]:
    """Yield the table of thresholds that were chosen on these samples, for use on others."""
    yield "Thresholds for new data (score ≥ threshold), chosen on these samples"
    yield f"{'wanted':<12} {'guaranteed':<12} {'TPR here':<10} {'empirical':<12} TPR here"
    for chosen in points.points:
        guaranteed, empirical = map(_threshold_and_recall, (chosen.guaranteed, chosen.empirical))
        yield f"{f'FPR ≤ {chosen.target_fpr:g}':<12} {guaranteed} {empirical}".rstrip()
    if any(chosen.guaranteed is not None for chosen in points.points):
        yield f"Guaranteed thresholds keep the rate on new data like these with probability {1 - points.delta:g}."
    yield from without_guarantee(points.points)


def without_guarantee(points: Collection[ChosenPoint]) -> Iterator[str]:
    """Yield what is missing for the guarantee of the thresholds that have none."""
    for point in points:
        if point.guaranteed is None:
            yield point.why_not_guaranteed


def _threshold_and_recall(point: OperatingPoint | None) -> str:
    if point is None:
        return f"{'-':<12} {'-':<10}"
    return f"{threshold_text(point.threshold):<12} {f'{point.tpr:.4f}':<10}"


def _level(confidence: float) -> str:
    return f"{100 * confidence:g} % interval"


def _ends(interval: Interval) -> str:
    return f"[{interval.low:.4f}, {interval.high:.4f}]"


def _share(interval: Interval) -> str:
    return "none called positive" if math.isnan(interval.value) else f"{interval.value:.4f} {_ends(interval)}"
