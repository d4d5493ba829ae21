"""The distribution of the scores in each class, and what a threshold does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pauc_lightning.report.chart import Chart
from pauc_lightning.report.evaluation import Evaluation, Floats
from pauc_lightning.report.html import Html
from pauc_lightning.report.scale import Scale, linear, logarithmic, logit
from pauc_lightning.report.subject import Threshold
from pauc_lightning.report.words import number, percent

_BARS = 48
_STEPS = 400
_READ_OUTS = 60
_EXTREME = 0.01
"""Probabilities this near 0 or 1 are indistinguishable on an axis with equal steps."""
_NEAREST = 1e-6
"""A logit axis ends this near 0 and 1."""


def distributions(evaluation: Evaluation, thresholds: Sequence[Threshold] = ()) -> Html:
    """Draw a histogram of each class: positives upwards, negatives downwards, as shares of their class."""
    axis = score_axis(evaluation.score)
    edges = axis.spread(_BARS + 1)
    up, down = (_shares(scores, edges) for scores in (evaluation.positives, evaluation.negatives))
    highest = max(up.max(), down.max())
    scale = linear(-highest * 1.08, highest * 1.08, "Share of the class", 7)
    ticks = [(value, percent(abs(value))) for value, _ in scale.ticks]
    alt = (
        f"Histogram of the scores. Half of the positives are above {number(float(np.median(evaluation.positives)))}, "
        f"half of the negatives above {number(float(np.median(evaluation.negatives)))}."
    )
    chart = Chart(axis, Scale(scale.low, scale.high, ticks, scale.label), alt, height=300)
    chart.bars(edges, 0.0, up, "bar positive")
    chart.bars(edges, 0.0, -down, "bar negative")
    chart.line([axis.low, axis.high], [0, 0], "rule")
    for threshold in thresholds:
        chart.line([threshold.value] * 2, [scale.low, scale.high], _class(threshold))
    return chart.svg()


def rates_by_threshold(evaluation: Evaluation, thresholds: Sequence[Threshold] = ()) -> Html:
    """Draw the share of each class at or above a threshold, on a logarithmic axis: the TPR and the FPR."""
    axis = score_axis(evaluation.score)
    positives, negatives = np.sort(evaluation.positives), np.sort(evaluation.negatives)
    least = 10.0 ** np.floor(np.log10(min(evaluation.region.max_fpr, 0.1) / 10 + 1e-15))
    chart = Chart(
        axis,
        logarithmic(max(float(least), 1e-6), 1.0, "Share of the class at or above"),
        "The share of positives and of negatives at or above each threshold, which are the true-positive and the "
        "false-positive rate.",
        height=300,
    )
    at = axis.spread(_STEPS + 1)
    for scores, name in ((negatives, "negative"), (positives, "positive")):
        chart.line(at, _above(_share_at_least(scores, at), chart.y.low), name)
    for threshold in thresholds:
        chart.line([threshold.value] * 2, [chart.y.low, 1.0], _class(threshold))
    picks = at[:: _STEPS // _READ_OUTS]
    tpr, fpr = _share_at_least(positives, picks), _share_at_least(negatives, picks)
    sentences = [
        f"threshold {short(value)}: TPR {percent(t)}, FPR {percent(f)}"
        for value, t, f in zip(picks, tpr, fpr, strict=True)
    ]
    chart.read_out(picks, np.maximum(fpr, chart.y.low), sentences)
    return chart.svg()


def score_axis(scores: Floats) -> Scale:
    """An axis that shows all scores; probabilities that crowd at 0 and 1 get a logit axis."""
    low, high = float(scores.min()), float(scores.max())
    if low < 0 or high > 1:
        return linear(low, high, "Score")
    crowded = np.mean((scores < _EXTREME) | (scores > 1 - _EXTREME))
    if crowded < 0.5:
        return linear(0.0, 1.0, "Score")
    low, high = (float(np.clip(end, _NEAREST, 1 - _NEAREST)) for end in np.quantile(scores, [0.0, 1.0]))
    return logit(min(low, 0.4), max(high, 0.6), "Score (logit scale)")


def short(value: float) -> str:
    """A threshold with as many digits as tell it from its neighbours; more near 1 than elsewhere.

    Example:
        >>> short(0.51234), short(0.9999312), short(0.000123), short(float("inf")), short(12.3456)
        ('0.512', '0.999931', '0.000123', '∞', '12.3')
    """
    if not np.isfinite(value):
        return "∞" if value > 0 else "−∞"
    if 0.99 < value < 1:
        digits = int(np.ceil(-np.log10(1 - value))) + 1
        return f"{value:.{min(digits, 12)}f}"
    text = f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return text.replace("-", "−") if "e" not in text else text


def _shares(scores: Floats, edges: Floats) -> Floats:
    counts, _ = np.histogram(np.clip(scores, edges[0], edges[-1]), edges)
    return counts / len(scores)


def _share_at_least(ascending: Floats, thresholds: Floats) -> Floats:
    return 1 - np.searchsorted(ascending, thresholds, side="left") / len(ascending)


def _above(shares: Floats, least: float) -> Floats:
    """The shares down to the axis, which a line may reach but not follow."""
    is_first_below = (shares < least) & np.append(True, shares[:-1] >= least)
    return np.where(is_first_below, least, np.where(shares < least, np.nan, shares))


def _class(threshold: Threshold) -> str:
    return "threshold guaranteed" if threshold.is_guaranteed else "threshold empirical"
