"""Several models side by side: their values, paired differences, and curves in one picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pauc_lightning.metrics.functional import Interval, partial_auc_difference
from pauc_lightning.region import Region
from pauc_lightning.report.evaluation import Evaluation
from pauc_lightning.report.figures.roc import overlaid
from pauc_lightning.report.figures.training import compared
from pauc_lightning.report.html import Child, Html, element
from pauc_lightning.report.parts import absent, figure, figures, section, table
from pauc_lightning.report.subject import Missing, Subject
from pauc_lightning.report.training import TrainingCurves
from pauc_lightning.report.words import ends, limits, number, percent, signed


def comparison_section(subjects: Sequence[Subject], id: str) -> Html:
    """A table and a picture for each region, and the validation curves of all runs."""
    regions = list(dict.fromkeys(subject.region for subject in subjects))
    return section(
        "Comparison",
        [_in_region(subjects, region) for region in regions],
        [absent(subject.scores) for subject in subjects if isinstance(subject.scores, Missing)],
        id=id,
    )


def same_samples(first: Subject, second: Subject) -> bool:
    """Whether the scores of two models belong to the same samples in the same order, as far as the files can tell."""
    if isinstance(first.scores, Missing) or isinstance(second.scores, Missing) or first.part != second.part:
        return False
    if not first.scores.is_of_the_same_samples_as(second.scores):
        return False
    if first.training is None or second.training is None:  # scores from elsewhere are compared row by row
        return first.training is second.training is None
    return (
        first.training.fingerprint is not None and first.training.fingerprint == second.training.fingerprint
    )


def _in_region(subjects: Sequence[Subject], region: Region) -> Html:
    judged = [
        (index, subject, evaluation)
        for index, subject in enumerate(subjects)
        if (evaluation := subject.evaluated(region)) is not None
    ]
    if not judged:
        return element("div")
    names = [subject.name for _, subject, _ in judged]
    reference = judged[0]
    counts = [f"{len(evaluation.positives):,} + {len(evaluation.negatives):,}" for _, _, evaluation in judged]
    is_one_size = len(set(counts)) == 1
    headers = (
        "Model",
        "Partial AUC",
        f"Difference to {reference[1].name}",
        *((f"Recall at FPR ≤ {percent(region.max_fpr)}",) if region.max_fpr < 1 else ()),
        *(("AUC",) if region.size < 1 else ()),
        *(() if is_one_size else ("Samples",)),
    )
    rows = [
        (*_row(index, subject, evaluation, reference), *(() if is_one_size else (count,)))
        for (index, subject, evaluation), count in zip(judged, counts, strict=True)
    ]
    samples = f"; samples: {counts[0]} (positives + negatives)" if is_one_size else ""
    caption = f"{len(judged)} models, judged in the region {limits(region)}{samples}"
    curves = [evaluation.curve for _, _, evaluation in judged]
    looks = [index for index, _, _ in judged]
    zoom = (
        figure(overlaid(curves, names, looks, region, is_enlarged=True), f"The region, {limits(region)}")
        if region.size < 1
        else None
    )
    return element(
        "div",
        table(headers, rows, caption, "numbers stacked"),
        element("p", *_explanation([subject for _, subject, _ in judged]), class_="quiet"),
        figures(
            figure(
                overlaid(curves, names, looks, region, is_enlarged=False), "ROC curves, the region shaded"
            ),
            zoom,
            _validation(subjects) if region == subjects[0].region else None,
        ),
    )


def _row(
    index: int, subject: Subject, evaluation: Evaluation, reference: tuple[int, Subject, Evaluation]
) -> tuple[Child, ...]:
    return (
        swatch(index, subject.name),
        _value(evaluation.partial_auc),
        _difference(index, subject, evaluation, reference),
        *((_value(evaluation.recall),) if evaluation.region.max_fpr < 1 else ()),
        *((_value(evaluation.auc),) if evaluation.region.size < 1 else ()),
    )


def swatch(index: int, name: str) -> Html:
    """A model's name with the line that it has in the pictures."""
    line = element("path", d="M1 6H31", class_=f"line c{index}")
    return element(
        "span",
        element("svg", line, viewBox="0 0 32 12", class_="swatch", aria_hidden="true"),
        name,
        class_="legend",
    )


def _value(interval: Interval) -> Child:
    return number(interval.value), " ", element("span", ends(interval), class_="quiet")


def _difference(
    index: int, subject: Subject, evaluation: Evaluation, reference: tuple[int, Subject, Evaluation]
) -> Child:
    if index == reference[0]:
        return element("span", "reference", class_="quiet")
    if not same_samples(subject, reference[1]):
        return element("span", "other samples", class_="quiet")
    region = evaluation.region
    found = partial_auc_difference(
        evaluation.score,
        reference[2].score,
        evaluation.label,
        region.max_fpr,
        region.min_tpr,
        region.min_fpr,
        confidence=evaluation.confidence,
    )
    verdict = (
        {1: "ahead", -1: "behind"}[1 if found.value > 0 else -1] if found.excludes_zero else "not told apart"
    )
    return (
        signed(found.value),
        " ",
        element("span", f"[{signed(found.low)}, {signed(found.high)}]", class_="quiet"),
        " ",
        element("span", verdict, class_=f"verdict {verdict.replace(' ', '-')}"),
    )


def _explanation(subjects: Sequence[Subject]) -> Iterator[Child]:
    first = subjects[0]
    yield f"Brackets are {percent(first.confidence)} intervals. "
    if any(same_samples(first, other) for other in subjects[1:]):
        yield (
            "Differences are paired: both models score the same samples, and what is hard for both does not count. "
            "Ahead and behind are said only where the interval excludes zero. It covers the choice of the samples, not "
            "another training: for that, repeat with several seeds (pauc compare). "
        )
    if not all(same_samples(first, other) for other in subjects[1:]):
        yield (
            "Models with other samples, or samples in another order, have no difference: their values cannot be "
            "paired, and depend on the samples. "
        )


def _validation(subjects: Sequence[Subject]) -> Html | None:
    """The validation curves of all runs."""
    found = [
        (index, subject.training.curves.series["val/pauc"], subject.name)
        for index, subject in enumerate(subjects)
        if subject.training is not None
        and isinstance(subject.training.curves, TrainingCurves)
        and "val/pauc" in subject.training.curves.series
    ]
    if len(found) < 2:
        return None
    names = ", ".join(name for _, _, name in found)
    svg = compared(
        [(index, series) for index, series, _ in found], f"Validation partial AUC by epoch of {names}."
    )
    return figure(svg, "While training", "Partial AUC on the validation part, each run in its own region.")
