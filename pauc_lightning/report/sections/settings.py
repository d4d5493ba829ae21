"""The settings of a run, the changed ones first; the versions; the commands that repeat it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from pauc_lightning.report.html import Html, element
from pauc_lightning.report.parts import command, section, table
from pauc_lightning.report.settings import changed
from pauc_lightning.report.subject import Subject, Training


def settings_section(training: Training, id: str, level: int) -> Html:
    """The settings that differ from the defaults, then all of them."""
    rows = [
        (element("code", setting.name), _written(setting.value), _default(setting.value, setting.default))
        for setting in changed(training.settings)
    ]
    return section(
        "Settings",
        table(("Setting", "Value", "Default"), rows, "Classes, and settings that are not their defaults", "settings"),
        element(
            "details",
            element("summary", "All settings (config.yaml)"),
            element("pre", element("code", training.text)),
        ),
        id=id,
        level=level,
    )


def repeat_section(subject: Subject, training: Training, id: str, level: int) -> Html:
    """The commands that make the same again, and the versions that made it."""
    place = shlex.quote(subject.place)
    config = shlex.quote(f"{subject.place}/config.yaml")
    lines = {
        f"pauc fit -c {config}": "trains it again, in a new directory",
        f"pauc test {place}": "tests this run again",
        f"pauc report {place}": "makes this report again",
    }
    width = max(map(len, lines))
    return section(
        "Repeat it",
        command("\n".join(f"{line:<{width}}  # {what}" for line, what in lines.items())),
        element(
            "p",
            "The same settings, data and versions on the same hardware give the same model. The settings above, saved as a "
            "file, are all that the first command needs.",
            class_="quiet",
        ),
        _versions(training),
        id=id,
        level=level,
    )


def _versions(training: Training) -> Html:
    if not training.versions:
        return element("p", "The run has not recorded the versions of its packages.", class_="quiet")
    newest = training.versions[-1]
    names = ", ".join(f"{name} {version}" for name, version in newest.items())
    more = len(training.versions) - 1
    before = f" Earlier parts of the run used others; versions.json has all {more + 1}." if more else ""
    return element("p", f"Trained with {names}.{before}", class_="quiet")


def _written(value: Any) -> Html:
    """A value as it would be typed."""
    if isinstance(value, str):
        return element("span", value)
    return element("span", json.dumps(value) if isinstance(value, (list, Mapping)) else _word(value))


def _word(value: Any) -> str:
    return {True: "true", False: "false", None: "null"}.get(value, str(value)) if not isinstance(value, (int, float)) or isinstance(value, bool) else f"{value:g}"


def _default(value: Any, default: Any) -> Html:
    return element("span", "" if default is None and value is not None else _word(default), class_="quiet")
