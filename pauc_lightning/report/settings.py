"""Which settings of a run differ from the defaults."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_SECTIONS = ("data", "model", "trainer", "checkpoint")
"""The sections that decide what is trained, and on what."""
_OURS = ("pauc_lightning.", "lightning.")
"""Packages whose classes are imported for their defaults. A user's own module is not: importing it runs it."""
_UNKNOWN = object()


@dataclass(frozen=True)
class Setting:
    """A setting of a run.

    Args:
        name: As on the command line, such as ``model.max_fpr``.
        value: Its value in config.yaml.
        default: The default of its class.
        has_default: Whether there is a default, and it is known.
    """

    name: str
    value: Any
    default: Any = None
    has_default: bool = False


def changed(settings: Mapping[str, Any]) -> list[Setting]:
    """The settings whose value is not their class's default, and the classes."""
    found = [setting for name in _SECTIONS for setting in _section(name, settings.get(name))]
    seed = settings.get("seed_everything")
    return [*found, Setting("seed_everything", seed)] if seed else found


def _section(name: str, content: Any) -> Iterator[Setting]:
    if not isinstance(content, Mapping):
        return
    if "class_path" in content:
        path = str(content["class_path"])
        yield Setting(name, path.rpartition(".")[2] if path.startswith(_OURS) else path)
        arguments, defaults = content.get("init_args") or {}, _defaults_of(path)
    else:
        arguments, defaults = content, _defaults_of(_FIXED[name])
    for key, value in arguments.items():
        default = defaults.get(key, _UNKNOWN)
        if isinstance(value, Mapping) and "class_path" in value:
            yield from _section(f"{name}.{key}", value)
        elif default is _UNKNOWN:
            if value is not None:
                yield Setting(f"{name}.{key}", value)
        elif _plain(default) != _plain(value):
            yield Setting(f"{name}.{key}", value, default, has_default=True)


_FIXED = {
    "trainer": "lightning.pytorch.Trainer",
    "checkpoint": "pauc_lightning.callbacks.RunCheckpoint",
}
"""The classes of sections that name none."""


def _defaults_of(path: str) -> dict[str, Any]:
    """The defaults of a class's arguments, from all constructors that it inherits."""
    if not path.startswith(_OURS):
        return {}
    from pauc_lightning.cli.app import TRAINER_DEFAULTS
    from pauc_lightning.cli.kinds import find_class

    found: dict[str, Any] = {}
    for member in inspect.getmro(find_class(path) or object):
        for name, parameter in inspect.signature(member).parameters.items() if member is not object else ():
            if parameter.default is not inspect.Parameter.empty:
                found.setdefault(name, parameter.default)
    if path == _FIXED["trainer"]:
        found |= TRAINER_DEFAULTS
    return found


def _plain(value: Any) -> Any:
    """A value as config.yaml would hold it."""
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
