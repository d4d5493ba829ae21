"""ROC curves with the region shaded: the whole square, and the region enlarged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pauc_lightning.metrics.functional import RocCurve
from pauc_lightning.region import Region
from pauc_lightning.report.chart import Chart
from pauc_lightning.report.evaluation import Evaluation
from pauc_lightning.report.html import Html
from pauc_lightning.report.scale import linear
from pauc_lightning.report.words import limits, number, percent

_FPR, _TPR = "False-positive rate", "True-positive rate (recall)"
_READ_OUTS = 60


@dataclass(frozen=True)
class Mark:
    """A point on the curve that a threshold reaches.

    Args:
        fpr: Its false-positive rate.
        tpr: Its true-positive rate.
        is_guaranteed: Whether the threshold keeps its false-positive rate with a guarantee.
    """

    fpr: float
    tpr: float
    is_guaranteed: bool = False


def whole_curve(evaluation: Evaluation, marks: Sequence[Mark] = ()) -> Html:
    """Draw one curve in the whole square, with its band and the region."""
    chart = _square(evaluation.region, f"ROC curve. {_in_words(evaluation)}")
    _draw(chart, evaluation, marks)
    return chart.svg()


def enlarged(evaluation: Evaluation, marks: Sequence[Mark] = ()) -> Html:
    """Draw the part of the curve inside the region."""
    region = evaluation.region
    chart = _region(region, f"The ROC curve inside the region {limits(region)}. {_in_words(evaluation)}")
    _draw(chart, evaluation, marks)
    return chart.svg()


def overlaid(
    curves: Sequence[RocCurve], names: Sequence[str], looks: Sequence[int], region: Region, is_enlarged: bool
) -> Html:
    """Draw the curves of several models.

    Args:
        curves: The curves.
        names: Their names, for the description in words.
        looks: The numbers of their colours and dashes.
        region: The region.
        is_enlarged: Draw the region only.
    """
    place = f" inside the region {limits(region)}" if is_enlarged else ""
    alt = f"ROC curves{place} of {', '.join(names)}. The table beside them has their values."
    chart = _region(region, alt) if is_enlarged else _square(region, alt)
    for index, curve in zip(looks, curves, strict=True):
        shown = _cut(curve, region) if is_enlarged else curve.thinned(region)
        chart.line(shown.fpr, shown.tpr, f"c{index}")
    return chart.svg()


def _square(region: Region, alt: str) -> Chart:
    chart = Chart(linear(0, 1, _FPR), linear(0, 1, _TPR), alt, is_square=True)
    chart.rectangle(region.min_fpr, region.min_tpr, region.max_fpr, 1.0, "region")
    chart.line([0, 1], [0, 1], "chance")
    chart.text(0.66, 0.66, "chance", "faint", dx=6, dy=14)
    return chart


def _region(region: Region, alt: str) -> Chart:
    return Chart(
        linear(region.min_fpr, region.max_fpr, _FPR), linear(region.min_tpr, 1, _TPR), alt, is_square=True
    )


def _draw(chart: Chart, evaluation: Evaluation, marks: Sequence[Mark]) -> None:
    """Draw the band, the area that counts and the curve into a square of any extent."""
    region, band = evaluation.region, evaluation.band
    part = evaluation.curve.clipped(region.min_fpr, region.max_fpr).thinned(region)
    chart.area(part.fpr, region.min_tpr, np.maximum(part.tpr, region.min_tpr), "counted")
    is_shown = (band.fpr >= chart.x.low) & (band.fpr <= chart.x.high)
    chart.area(band.fpr[is_shown], band.low[is_shown], band.high[is_shown], "band own")
    curve = _cut(evaluation.curve, region) if chart.x.high < 1 else evaluation.curve.thinned(region)
    chart.line(curve.fpr, curve.tpr, "own")
    for mark in marks:
        if chart.x.low <= mark.fpr <= chart.x.high and mark.tpr >= chart.y.low:
            chart.dots([mark.fpr], [mark.tpr], "guaranteed" if mark.is_guaranteed else "empirical")
    picks = np.unique(np.linspace(0, is_shown.sum() - 1, _READ_OUTS).round().astype(int))
    rates = {name: getattr(band, name)[is_shown][picks] for name in ("fpr", "tpr", "low", "high")}
    sentences = [
        f"FPR {percent(fpr)}: TPR {number(tpr, 2)} [{number(low, 2)}, {number(high, 2)}]"
        for fpr, tpr, low, high in zip(*rates.values(), strict=True)
    ]
    chart.read_out(rates["fpr"], rates["tpr"], sentences)


def _cut(curve: RocCurve, region: Region) -> RocCurve:
    """The part of a curve between the region's rates, which rises from the axis if it begins there."""
    part = curve.clipped(region.min_fpr, region.max_fpr).thinned(region)
    if region.min_fpr > 0:
        return part
    return RocCurve(
        np.append(0.0, part.fpr), np.append(0.0, part.tpr), np.append(part.thresholds[:1], part.thresholds)
    )


def _in_words(evaluation: Evaluation) -> str:
    curve, region = evaluation.curve, evaluation.region
    rates = [region.min_fpr + share * (region.max_fpr - region.min_fpr) for share in (0.25, 0.5, 1.0)]
    found = [f"{number(float(curve.tpr_at(rate)))} at {percent(rate)}" for rate in rates]
    return f"The true-positive rate is {found[0]}, {found[1]} and {found[2]} false positives."
