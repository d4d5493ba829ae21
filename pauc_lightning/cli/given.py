"""The settings that the user gave, in options and in files, so that errors can quote them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import yaml

from pauc_lightning.cli.configs import given_configs, read_config
from pauc_lightning.errors import InputError


class Setting(NamedTuple):
    """One setting as the user wrote it.

    Attributes:
        key: Its dotted name without ``init_args`` and ``class_path``, such as ``model.backbone.hidden``.
        value: The value; for a class, its name.
        quote: The setting as it appears on the command line or in a file.
    """

    key: str
    value: Any
    quote: str


class Given:
    """All settings of a command, in order: later ones win.

    Args:
        arguments: The command's arguments. Files that cannot be read are skipped.

    Example:
        >>> given = Given(["--model=CE", "--model.init_args.learning_rat", "3", "--data={class_path: Mine}"])
        >>> given.find("learning_rat").quote
        '`--model.init_args.learning_rat=3`'
        >>> given.class_name("model"), given.class_name("data")
        ('CE', 'Mine')
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self.arguments = list(arguments)
        self.settings = [*self._from_files(), *self._from_options()]

    def find(self, name: str, value: object = None) -> Setting | None:
        """The last setting whose name is or ends in ``name``, preferably one with this value."""
        named = [setting for setting in self.settings if f".{setting.key}".endswith(f".{name}")]
        same = [setting for setting in named if str(setting.value) == str(value)]
        found = same or named
        return found[-1] if found else None

    def class_name(self, key: str) -> str | None:
        """The class given last for ``key``."""
        names = [setting.value for setting in self.settings if setting.key == key]
        return next((name for name in reversed(names) if isinstance(name, str)), None)

    def _from_options(self) -> Iterator[Setting]:
        for option, following in zip(self.arguments, [*self.arguments[1:], ""], strict=False):
            name, is_attached, value = option.partition("=")
            if not name.startswith("--") or name == "--config":
                continue
            text = value if is_attached else following
            yield from _flatten(short(name[2:]), _parsed(text), lambda _, n=name, t=text: f"`{n}={t}`")

    def _from_files(self) -> Iterator[Setting]:
        for path in given_configs(self.arguments):
            try:
                content = read_config(path)
            except InputError:
                continue
            yield from _flatten(
                "", content, lambda setting, p=path: f"`{setting.key}: {setting.value}` in {p}"
            )


def short(key: str) -> str:
    """A dotted name without ``init_args`` and ``class_path``, and without the ``+`` of appended lists."""
    return ".".join(part for part in key.rstrip("+").split(".") if part not in ("init_args", "class_path"))


def _parsed(text: str) -> Any:
    """Parse a list or a mapping; leave any other value as typed."""
    if not text.startswith(("{", "[")):
        return text
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _flatten(key: str, value: Any, quote: Any) -> Iterator[Setting]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flatten(short(f"{key}.{name}".strip(".")), inner, quote)
    elif isinstance(value, list):
        yield Setting(key, value, quote(Setting(key, value, "")))
        for inner in value:
            if isinstance(inner, dict):
                yield from _flatten(key, inner, quote)
    else:
        yield Setting(key, value, quote(Setting(key, value, "")))
