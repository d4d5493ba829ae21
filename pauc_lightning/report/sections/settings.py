"""The settings of a run, the changed ones first; the versions; the commands that repeat it."""

from __future__ import annotations

import json
import shlex
from typing import Any

from pauc_lightning.report.html import Html, element
from pauc_lightning.report.parts import command, section, table
from pauc_lightning.report.settings import Setting, changed
from pauc_lightning.report.subject import Subject, Training


def settings_section(training: Training, id: str, level: int) -> Html:
    """The settings that differ from the defaults, then all of them."""
    rows = [
        (
            element("code", setting.name),
            _written(setting.value),
            element("span", _default(setting), class_="quiet"),
        )
        for setting in changed(training.settings)
    ]
    return section(
        "Settings",
        table(
            ("Setting", "Value", "Default"),
            rows,
            "Classes, and settings that are not their defaults",
            "settings",
        ),
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
    lines = {
        f"pauc fit -c {shlex.quote(f'{subject.place}/config.yaml')}": "trains it again, in a new directory",
        f"pauc test {place}": "tests this run again",
        f"pauc report {place}": "makes this report again",
    }
    width = max(map(len, lines))
    return section(
        "Repeat it",
        command("\n".join(f"{line:<{width}}  # {what}" for line, what in lines.items())),
        element(
            "p",
            "The same settings, data and versions on the same hardware give the same model. The settings above, saved "
            "as a file, are all that the first command needs.",
            class_="quiet",
        ),
        _versions(training),
        id=id,
        level=level,
    )


def _versions(training: Training) -> Html:
    if not training.versions:
        return element("p", "The run has not recorded the versions of its packages.", class_="quiet")
    names = ", ".join(f"{name} {version}" for name, version in training.versions[-1].items())
    count = len(training.versions)
    before = f" Earlier parts of the run used others; versions.json has all {count}." if count > 1 else ""
    return element("p", f"Trained with {names}.{before}", class_="quiet")


def _default(setting: Setting) -> str:
    return _written(setting.default) if setting.has_default else ""


def _written(value: Any) -> str:
    """A value as it would be typed."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:g}"
    return json.dumps(value, default=str)  # true, null, and lists as in YAML
