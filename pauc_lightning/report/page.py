"""The whole page: one HTML file that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from importlib.resources import files

from pauc_lightning import __version__
from pauc_lightning.report.html import Child, Html, element
from pauc_lightning.report.looks import looks
from pauc_lightning.report.sections.calibration import calibration_section
from pauc_lightning.report.sections.comparison import comparison_section
from pauc_lightning.report.sections.headline import headline, purpose
from pauc_lightning.report.sections.operating import known, marks, operating_section
from pauc_lightning.report.sections.roc import roc_section
from pauc_lightning.report.sections.scores import scores_section
from pauc_lightning.report.sections.settings import repeat_section, settings_section
from pauc_lightning.report.sections.training import training_section
from pauc_lightning.report.subject import Subject

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The browser itself refuses to load anything, and to run anything."""


def page(subjects: Sequence[Subject], title: str | None = None) -> str:
    """Write the report about one model, or about several side by side.

    Args:
        subjects: The models; their names differ.
        title: The heading; None makes one of the models' names.
    """
    heading = title or (subjects[0].title if len(subjects) == 1 else _several(subjects))
    body = _about_one(subjects[0]) if len(subjects) == 1 else _about_several(subjects)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"pauc-lightning {__version__}"),
        element("title", heading),
        element("style", Html(_stylesheet(len(subjects)))),
    )
    main = element("main", _header(subjects, heading), list(body))
    foot = element(
        "footer",
        element("p", f"Made by pauc-lightning {__version__}. This file loads nothing from elsewhere."),
    )
    return f"<!doctype html>\n{element('html', head, element('body', main, foot), lang='en')}\n"


def _header(subjects: Sequence[Subject], heading: str) -> Html:
    today = date.today()
    places = " · ".join(subject.place for subject in subjects[:4]) + (" · …" if len(subjects) > 4 else "")
    return element(
        "header",
        element(
            "p", "Report · ", element("time", today.isoformat(), datetime=today.isoformat()), class_="kicker"
        ),
        element("h1", heading),
        purpose(subjects[0]) if len({subject.region for subject in subjects}) == 1 else None,
        element("p", places, class_="place"),
    )


def _about_one(subject: Subject) -> Iterator[Child]:
    yield headline(subject)
    yield from _details(subject, "", 2)


def _about_several(subjects: Sequence[Subject]) -> Iterator[Child]:
    links = [
        element("a", "Comparison", href="#comparison"),
        *(element("a", subject.name, href=f"#run{index}") for index, subject in enumerate(subjects)),
    ]
    yield element("nav", links, aria_label="Contents")
    yield comparison_section(subjects, "comparison")
    for index, subject in enumerate(subjects):
        yield element(
            "section",
            element("h2", subject.name),
            element("p", subject.place, class_="place"),
            headline(subject),
            list(_details(subject, f"run{index}-", 3)),
            id=f"run{index}",
            class_=f"model of{index}",
        )


def _details(subject: Subject, prefix: str, level: int) -> Iterator[Html | None]:
    """The sections about one model."""
    evaluation = subject.evaluation
    if evaluation is not None:
        thresholds = known(subject.thresholds)
        yield roc_section(evaluation, marks(thresholds, evaluation), f"{prefix}roc", level)
        yield scores_section(evaluation, thresholds, f"{prefix}scores", level)
        yield operating_section(subject, evaluation, f"{prefix}operating", level)
        yield calibration_section(subject, evaluation, f"{prefix}calibration", level)
    if subject.training is not None:
        yield training_section(subject.training, f"{prefix}training", level)
        yield settings_section(subject.training, f"{prefix}settings", level)
        yield repeat_section(subject, subject.training, f"{prefix}repeat", level)


def _several(subjects: Sequence[Subject]) -> str:
    names = [subject.name for subject in subjects]
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) <= 4 else f"{len(names)} models"
    return f"{listed} compared"


def _stylesheet(n_models: int) -> str:
    return (files("pauc_lightning.report") / "style.css").read_text(encoding="utf-8") + looks(n_models)
