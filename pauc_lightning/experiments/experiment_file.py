"""Reads the ``compare:`` section of a config file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pauc_lightning.cli.configs import read_config
from pauc_lightning.cli.nearest import nearest
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.plan import Experiment

SECTION = "compare"
_LISTS = ("regions", "seeds")
_AXES = ("data", "backbones", "methods")
_SINGLE = ("warmup_epochs", "epochs", "baseline", "threads", "out", "tuned")
KEYS = (*_AXES, *_LISTS, *_SINGLE, "warmup", "train_part", "best_of")
"""What a ``compare:`` section may hold."""


class CompareSection:
    """The settings in a ``compare:`` section, written as on the command line.

    Args:
        path: The file, for messages.
        content: The section.
    """

    def __init__(self, path: Path, content: Any) -> None:
        self.path = path
        if not isinstance(content, Mapping):
            raise InputError(
                f"`{SECTION}:` in {path} must hold settings, such as `methods: [ce, upauci]` and `seeds: [0, 1]`."
            )
        for key in content:
            if key not in KEYS:
                close = nearest(str(key), KEYS)
                raise InputError(
                    f"`{SECTION}: {key}` in {path} does not exist.{close} It may hold {', '.join(KEYS)}."
                )
        self._content = content

    def axis(self, name: str) -> dict[str, Any]:
        """The values of an axis: label and settings, which are None in a plain list."""
        content = self._content.get(name)
        if content is None:
            return {}
        if isinstance(content, Mapping) and content:
            return {self._label(name, key): value for key, value in content.items()}
        if isinstance(content, Sequence) and not isinstance(content, str) and content:
            labels = [self._label(name, label) for label in content]
            repeated = next((label for label in labels if labels.count(label) > 1), None)
            if repeated is not None:
                raise InputError(f"`{name}:` in {self.path} names {repeated} twice: name it once.")
            return dict.fromkeys(labels)
        raise self._wrong(name, content, "a list of names, or names with their options")

    def lists(self, name: str) -> dict[str, list[str]]:
        """Lists of names by label."""
        content = self._content.get(name)
        if content is None:
            return {}
        wanted = "labels, each with a list of names"
        if not isinstance(content, Mapping):
            raise self._wrong(name, content, wanted)
        if not all(isinstance(names, (list, tuple)) for names in content.values()):
            raise self._wrong(name, content, wanted)
        return {
            self._label(name, label): [self._label(name, each) for each in names]
            for label, names in content.items()
        }

    def texts(self, name: str) -> list[str] | None:
        """A list of numbers or regions as text; None if the section does not have it."""
        content = self._content.get(name)
        if content is None:
            return None
        if isinstance(content, (list, tuple)) and content:
            if not all(_is_scalar(value) for value in content):
                raise self._wrong(name, content, 'a list such as [0.3, "0.3,0.7"] or [0, 1, 2]')
            return [str(value) for value in content]
        if _is_scalar(content):
            return [str(content)]
        raise self._wrong(name, content, "a list")

    def text(self, name: str) -> str | None:
        """A single value as text; None if the section does not have it."""
        content = self._content.get(name)
        if content is None:
            return None
        if not _is_scalar(content):
            raise self._wrong(name, content, "a single value")
        return str(content)

    def flag(self, name: str) -> bool:
        """A value that is true or false."""
        content = self._content.get(name, False)
        if not isinstance(content, bool):
            raise self._wrong(name, content, "true or false")
        return content

    def settings(self, name: str) -> Any:
        """The value as it is in the file."""
        return self._content.get(name)

    def _label(self, axis: str, label: Any) -> str:
        if not isinstance(label, str):
            raise self._wrong(axis, label, "names (quote those that YAML reads as numbers)")
        return label

    def _wrong(self, name: str, value: Any, wanted: str) -> InputError:
        return InputError(f"`{SECTION}: {name}: {value}` in {self.path}: give {wanted}.")


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def read_experiment(configs: Sequence[str]) -> tuple[Experiment, CompareSection] | None:
    """Find the config file with a ``compare:`` section; None if there is none."""
    found = [(Path(name), content) for name in configs if SECTION in (content := read_config(Path(name)))]
    if len(found) > 1:
        raise InputError(
            f"{found[0][0]} and {found[1][0]} both describe a comparison (`{SECTION}:`): give one of them."
        )
    for path, content in found:
        common = {key: value for key, value in content.items() if key != SECTION}
        return Experiment(path, common), CompareSection(path, content[SECTION])
    return None
