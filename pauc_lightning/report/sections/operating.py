"""Thresholds, and what they do on the samples of the report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pauc_lightning.decisions import threshold_text
from pauc_lightning.metrics.functional import Interval, operating_point, operating_point_intervals
from pauc_lightning.report.evaluation import Evaluation
from pauc_lightning.report.figures.roc import Mark
from pauc_lightning.report.html import Child, Html, element
from pauc_lightning.report.parts import absent, key, section, table
from pauc_lightning.report.subject import Missing, Subject, Threshold
from pauc_lightning.report.words import ends, number, percent


def operating_section(subject: Subject, evaluation: Evaluation, id: str, level: int) -> Html | None:
    """A row for each threshold: the rates that it reaches, with intervals."""
    if isinstance(subject.thresholds, Missing):
        return section("Operating points", absent(subject.thresholds), id=id, level=level)
    if not subject.thresholds:
        return None
    where = f"on the {subject.part} part" if subject.part else "on these samples"
    rows = [_row(threshold, evaluation) for threshold in subject.thresholds]
    headers = ("FPR allowed", "Threshold", "Kind", "False-positive rate", "Recall (TPR)", "Precision")
    notes = [threshold.note for threshold in subject.thresholds if threshold.note]
    return section(
        "Operating points",
        element("p", *_explanation(subject, subject.thresholds[0].probability)),
        table(headers, rows, f"What the thresholds do {where}", "numbers stacked"),
        [element("p", text, class_="quiet") for text in notes],
        id=id,
        level=level,
    )


def known(thresholds: Sequence[Threshold] | Missing) -> list[Threshold]:
    """The thresholds that exist."""
    if isinstance(thresholds, Missing):
        return []
    return [threshold for threshold in thresholds if math.isfinite(threshold.value)]


def marks(thresholds: Sequence[Threshold], evaluation: Evaluation) -> list[Mark]:
    """Where the thresholds lie on the ROC curve."""
    found = []
    for threshold in thresholds:
        point = operating_point(evaluation.score, evaluation.label, threshold.value)
        found.append(Mark(point.fpr, point.tpr, threshold.is_guaranteed))
    return found


def _row(threshold: Threshold, evaluation: Evaluation) -> tuple[Child, ...]:
    kind = _kind(threshold)
    if not math.isfinite(threshold.value):
        return _budget(threshold), "–", kind, "–", "–", "–"
    rates = operating_point_intervals(
        evaluation.score, evaluation.label, threshold.value, confidence=evaluation.confidence
    )
    cells = (_rate(rates.fpr), _rate(rates.tpr), _rate(rates.precision))
    return _budget(threshold), threshold_text(threshold.value), kind, *cells


def _budget(threshold: Threshold) -> str:
    return f"≤ {percent(threshold.max_fpr)}"


def _kind(threshold: Threshold) -> Html:
    name = "guaranteed" if threshold.is_guaranteed else "empirical"
    return key(name, name)


def _rate(interval: Interval) -> Child:
    if math.isnan(interval.value):
        return "–"
    return number(interval.value), " ", element("span", ends(interval), class_="quiet")


def _explanation(subject: Subject, probability: float) -> Iterator[Child]:
    yield "Scores of at least the threshold are called positive. "
    if subject.chosen_on:
        yield f"The thresholds were chosen on the {subject.chosen_on} part: "
    else:
        yield "The thresholds were chosen on these very samples, so the rates beside them are a little too good: "
    yield "an empirical one kept the rate there and exceeds it on new data about half of the time; a guaranteed one "
    yield f"keeps it on new data with {percent(probability)} probability. "
    yield f"Brackets are {percent(subject.confidence)} intervals, exact for independent samples."
