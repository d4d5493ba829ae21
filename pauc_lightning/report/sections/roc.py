"""The ROC curve of a model."""

from __future__ import annotations

from collections.abc import Sequence

from pauc_lightning.metrics.functional import roc_band
from pauc_lightning.report.evaluation import RESAMPLES, Evaluation
from pauc_lightning.report.figures.roc import Mark, enlarged, whole_curve
from pauc_lightning.report.html import Html, element
from pauc_lightning.report.parts import beside, figure, figures, key, section, table
from pauc_lightning.report.words import limits, number, percent

_SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Where in the region the curve is read off, as shares of its width."""


def roc_section(evaluation: Evaluation, marks: Sequence[Mark], id: str, level: int) -> Html:
    """The whole curve, the region enlarged, and the recall at a few rates; all with the confidence band."""
    is_part = evaluation.region.size < 1
    zoom = (
        figure(
            enlarged(evaluation, marks),
            f"The region, {limits(evaluation.region)}",
            f"The grey share of this square is the partial AUC, {number(evaluation.partial_auc.value)}.",
        )
        if is_part
        else None
    )
    caption = "The region is outlined, and what counts is grey." if is_part else None
    return section(
        "ROC curve",
        figures(
            figure(whole_curve(evaluation, marks), "The whole curve", caption, _legend(marks)),
            zoom,
            beside(
                _read_off(evaluation),
                element("p", _about_band(evaluation), class_="quiet"),
            ),
        ),
        id=id,
        level=level,
    )


def _read_off(evaluation: Evaluation) -> Html:
    region = evaluation.region
    rates = [region.min_fpr + share * (region.max_fpr - region.min_fpr) for share in _SHARES]
    band = roc_band(
        evaluation.score, evaluation.label, rates, confidence=evaluation.confidence, n_resamples=RESAMPLES
    )
    rows = [
        (percent(fpr), number(tpr), f"[{number(low)}, {number(high)}]")
        for fpr, tpr, low, high in zip(band.fpr, band.tpr, band.low, band.high, strict=True)
    ]
    headers = ("False-positive rate", "Recall", f"{percent(evaluation.confidence)} interval")
    return table(headers, rows, "The curve, read off", "numbers")


def _about_band(evaluation: Evaluation) -> str:
    return (
        f"The pale band and the intervals are pointwise: at each false-positive rate they hold the true recall with "
        f"{percent(evaluation.confidence)} probability, not the whole curve at once. They come from {RESAMPLES:,} "
        "bootstrap resamples of both classes. Left of the third negative nothing bounds the curve from below."
    )


def _legend(marks: Sequence[Mark]) -> list[Html]:
    names = {True: "guaranteed", False: "empirical"}
    kinds = sorted({mark.is_guaranteed for mark in marks}, reverse=True)
    return [key(names[kind], f"{names[kind]} threshold") for kind in kinds]
