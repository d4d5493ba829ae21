"""What was trained for, and how well it went: the top of a report."""

from __future__ import annotations

from pauc_lightning.metrics.functional import Interval
from pauc_lightning.report.chart import WIDTH
from pauc_lightning.report.evaluation import Evaluation
from pauc_lightning.report.html import Child, Html, element
from pauc_lightning.report.parts import absent, note
from pauc_lightning.report.subject import Missing, Subject
from pauc_lightning.report.words import aim, by_chance, ends, limits, number, percent


def purpose(subject: Subject) -> Html:
    """One sentence: the corner of the curve that counts."""
    verb = "Trained" if subject.training else "Judged by how well it is able"
    return element("p", f"{verb} to {aim(subject.region)} ({limits(subject.region)}).", class_="lead")


def headline(subject: Subject) -> list[Html]:
    """The partial AUC with its interval, and the numbers beside it; or why there are none."""
    evaluation = subject.evaluation
    if evaluation is None or isinstance(subject.scores, Missing):
        assert isinstance(subject.scores, Missing)
        return [absent(subject.scores)]
    region = subject.region
    confidence = percent(evaluation.confidence)
    cards = [
        _card(
            "Partial AUC",
            evaluation.partial_auc,
            f"{confidence} interval {ends(evaluation.partial_auc)}",
            _gauge(evaluation),
            class_="first",
        ),
        _card(
            f"Recall at FPR ≤ {percent(region.max_fpr)}",
            evaluation.recall,
            ends(evaluation.recall),
        )
        if region.max_fpr < 1
        else None,
        _card("AUC, the whole curve", evaluation.auc, ends(evaluation.auc)) if region.size < 1 else None,
        _samples(subject, evaluation),
    ]
    meaning = (
        "The partial AUC is the area under the ROC curve inside the region, divided by the region’s area: 1 is "
        f"perfect, {by_chance(region):.3g} is a random score."
    )
    return [
        element("dl", cards, class_="cards"),
        element("p", meaning, class_="quiet"),
        *_remarks(subject),
    ]


def _card(
    name: str, interval: Interval, text: str, extra: Html | None = None, class_: str | None = None
) -> Html:
    return element(
        "div",
        element("dt", name),
        element("dd", number(interval.value), class_="value"),
        element("dd", text, class_="detail"),
        element("dd", extra, class_="gauge") if extra else None,
        class_=class_,
    )


def _samples(subject: Subject, evaluation: Evaluation) -> Html:
    n_pos, n_neg = len(evaluation.positives), len(evaluation.negatives)
    where = f" · {subject.part} part" if subject.part else ""
    return element(
        "div",
        element("dt", f"Samples{where}"),
        element("dd", f"{n_pos + n_neg:,}", class_="value"),
        element("dd", f"{n_pos:,} positives, {n_neg:,} negatives", class_="detail"),
    )


def _gauge(evaluation: Evaluation) -> Html:
    """The interval on a line from 0 to 1, with the value of a random score."""
    left, right, y = 4.0, WIDTH - 4.0, 12.0
    interval, chance = evaluation.partial_auc, by_chance(evaluation.region)

    def at(value: float) -> str:
        return f"{left + value * (right - left):.1f}"

    words = f"{number(interval.value)} with interval {ends(interval)} on a line from 0 to 1; chance is {chance:.3g}."
    return element(
        "svg",
        element("path", d=f"M{left} {y}H{right}", class_="rail"),
        element("path", d=f"M{at(interval.low)} {y}H{at(interval.high)}", class_="reach own"),
        element("path", d=f"M{at(chance)} {y - 6}V{y + 6}", class_="by-chance") if chance > 0 else None,
        element("circle", cx=at(interval.value), cy=y, r=6, class_="dot own"),
        element("text", "0", x=left, y=y + 21, class_="tick") if chance > 0.06 or chance == 0 else None,
        element("text", "1", x=right, y=y + 21, class_="tick end"),
        element("text", "chance", x=at(chance), y=y + 21, class_=f"tick {'middle' if chance > 0.08 else ''}")
        if chance > 0
        else None,
        viewBox=f"0 0 {WIDTH} 38",
        role="img",
        aria_label=words,
        class_="chart",
    )


def _remarks(subject: Subject) -> list[Html]:
    """What a reader must know to read the numbers right."""
    found: list[Html] = []
    if subject.part == "validation":
        test: Child = element("code", f"pauc test {subject.place}")
        found.append(
            note(
                "These are values on the validation part, on which the best epoch was chosen, so they are a little too "
                "good. The test part is evaluated by ",
                test,
                ".",
            )
        )
    if subject.checkpoint not in ("", "best"):
        found.append(
            note(f"The newest test evaluated the checkpoint {subject.checkpoint}, not the best one.")
        )
    training = subject.training
    if training is not None and training.loss_region != subject.region:
        found.append(
            element("p", f"The loss was that of the region {limits(training.loss_region)}.", class_="quiet")
        )
    return found
