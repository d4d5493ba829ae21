"""Settings of commands that were parsed before: the next run of a matrix differs in a few plain values only."""

from __future__ import annotations

import copy
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from jsonargparse import Namespace

from pauc_lightning.cli.configs import given_configs
from pauc_lightning.data.kept_sources import file_state

_MOST = 32
"""Number of commands that are remembered."""


class _Plain(NamedTuple):
    """An option whose value is taken as it is written and decides no other setting.

    Attributes:
        key: Where the value is in the parsed settings.
        pattern: Matches the values that need no parser: others may mean something else, such as null or 1e5.
        read: Turns the text into the value.
    """

    key: str
    pattern: str
    read: Callable[[str], Any]


_PLAIN = {
    "--run_dir": _Plain("run_dir", r"/?[A-Za-z][\w./-]*", str),
    "--run_name": _Plain("run_name", r"[A-Za-z]\w*-[\w.-]*", str),
    "--seed_everything": _Plain("seed_everything", r"0|[1-9]\d{0,9}", int),
    "--data.seed": _Plain("data.init_args.seed", r"0|[1-9]\d{0,9}", int),
    "--model.init_weights": _Plain("model.init_args.init_weights", r"/?[A-Za-z][\w./-]*\.ckpt", str),
}


class ParsedBefore:
    """Remembers parsed settings, and puts the plain values of other commands into them.

    Parsing takes as long as ten epochs of a linear network. A command is recognised if it has the same options in the
    same order, but for the values of those in ``_PLAIN``, and if its config files have not changed.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Namespace] = OrderedDict()

    def find(self, arguments: Sequence[str]) -> Namespace | None:
        """Return the settings of a command; None if it has to be parsed."""
        key, plain = _split(arguments)
        known = self._known.get(key)
        if known is None:
            return None
        self._known.move_to_end(key)
        settings = copy.deepcopy(known)
        for place, value in plain.items():
            settings[place] = value
        return settings

    def remember(self, arguments: Sequence[str], settings: Namespace) -> None:
        """Keep the settings that the parser has made of a command."""
        key, plain = _split(arguments)
        if all(place in settings and settings[place] == value for place, value in plain.items()):
            self._known[key] = copy.deepcopy(settings)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)


def _split(arguments: Sequence[str]) -> tuple[Hashable, dict[str, Any]]:
    """Return what identifies a command, and its plain values by their places."""
    command, *options = arguments
    rest: list[str] = []
    plain: dict[str, Any] = {}
    for option in options:
        name, _, text = option.partition("=")
        known = _PLAIN.get(name)
        if known is not None and re.fullmatch(known.pattern, text):
            plain[f"{command}.{known.key}"] = known.read(text)
            rest.append(f"{name}=")
            continue
        if _may_replace(name):  # what comes later wins
            plain.clear()
            rest = list(options[: len(rest)])
        rest.append(option)
    files = tuple(file_state(path) for path in given_configs(arguments))
    return (os.getcwd(), command, tuple(rest), files), plain


def _may_replace(name: str) -> bool:
    """Whether an option may set several settings at once, those of plain options among them."""
    return name in ("-c", "--config", "--data", "--data.class_path", "--model", "--model.class_path")
