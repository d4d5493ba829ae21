"""Options as help pages show them: name, kind of value, purpose, default."""

from __future__ import annotations

import re
import shutil
import textwrap
import types
from argparse import SUPPRESS, Action, _HelpAction
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

_NARROWEST, _WIDEST = 80, 110
_INDENT = 2
_COLUMN = 34
"""Column at which the descriptions begin."""
_LONGEST_KIND = 30
_KINDS = {
    int: "INT",
    float: "FLOAT",
    str: "TEXT",
    bool: "true|false",
    dict: "MAPPING",
    Path: "PATH",
    timedelta: "TIME",
}
_MARKUP = ((r":\w+:`~?(?:[\w.]+\.)?([^`]+)`", r"\1"), (r"``([^`]*)``", r"\1"))
_NOTE = re.compile(r"\s*\.\. \w+::.*", flags=re.DOTALL)
_OWN_DEFAULT = re.compile(r"\s*\((?:(?:default:? )?%\(default\)s|default:? [^)]*)\)")
_DEFAULT = re.compile(r"\s*Default: (?:``(.*?)``|(\S+?))\.(?=\s|$)", flags=re.DOTALL)


def with_underscores(arguments: Iterable[str]) -> list[str]:
    """The arguments with the names of options in this project's spelling; values stay as they are.

    Example:
        >>> with_underscores(["fit", "--data.batch-size=32", "--run-name", "a-b", "-c", "my-file"])
        ['fit', '--data.batch_size=32', '--run_name', 'a-b', '-c', 'my-file']
    """
    result = []
    for argument in arguments:
        name, is_attached, value = argument.partition("=")
        if re.fullmatch(r"--[A-Za-z][\w.+-]*", name):
            name = "--" + name[2:].replace("-", "_")
        result.append(name + is_attached + value)
    return result


@dataclass(frozen=True)
class Option:
    """An option of a command.

    Args:
        name: As it is typed, such as ``--data.seed``.
        kind: The kind of its value, such as ``INT``; empty for a switch.
        text: What it does.
        default: Its value if it is left out, as it would be typed; empty if none is shown.
    """

    name: str
    kind: str
    text: str
    default: str

    @classmethod
    def of_action(cls, action: Action) -> Option:
        """The option that a parser knows as ``action``."""
        text = action.help or ""
        text, documented = _clean(text if action.default is None else _OWN_DEFAULT.sub("", text))
        default = _default(action) if action.default is not None else documented
        if not default and action.default is None and hasattr(action, "_typehint"):
            default = "null"  # plain options describe their default in words
        if getattr(action, "required", False):
            default = "required"
        elif action.nargs == 0:
            default = ""
        names = [name for name in action.option_strings if not name.endswith("+")]
        return cls(", ".join(names) or _kind(action), _kind(action) if names else "", text, default)

    def in_brief(self, width: int) -> Option:
        """The option with only the first sentence of its text, or the first clause if that is long."""
        sentence = re.split(r"(?<=[^.]\.)\s", self.text, maxsplit=1)[0].rstrip(".")
        if len(sentence) > 2 * (width - _COLUMN):
            sentence = re.split(r"[;:] ", sentence, maxsplit=1)[0]
        return replace(self, text=sentence)

    def lines(self, width: int) -> Iterator[str]:
        """The option as it stands on a page of this width."""
        left = f"{' ' * _INDENT}{self.name} {self.kind}".rstrip()
        default = f" ({self.default})" if self.default == "required" else f" (default: {self.default})"
        right = textwrap.wrap(
            self.text + (default if self.default else ""), width - _COLUMN, break_on_hyphens=False
        )
        if len(left) > _COLUMN - 2:
            yield left
            left = ""
        first, *others = right or [""]
        yield f"{left:<{_COLUMN}}{first}".rstrip()
        yield from (" " * _COLUMN + line for line in others)


def page_width() -> int:
    """The width of help pages: the terminal's, within limits."""
    return max(_NARROWEST, min(shutil.get_terminal_size((100, 24)).columns - 1, _WIDEST))


def visible(actions: Iterable[Action]) -> Iterator[Action]:
    """The actions that are settings: neither help nor hidden, nor the path of a file with a section's settings."""
    for action in actions:
        is_help = isinstance(action, _HelpAction) or action.dest.endswith(".help")
        is_section = type(action).__name__ == "_ActionConfigLoad"
        if not is_help and not is_section and action.help != SUPPRESS:
            yield action


def filled(text: str, width: int) -> list[str]:
    """A wrapped paragraph, or nothing if there is no text. Text with line breaks stays as it is."""
    if not text:
        return []
    wrapped = (
        text.strip("\n") if "\n" in text.strip("\n") else textwrap.fill(text, width, break_on_hyphens=False)
    )
    return [wrapped + "\n"]


def section(title: str, options: Sequence[Option], width: int) -> str:
    """A heading and its options."""
    lines = [line for option in options for line in option.lines(width)]
    return "\n".join([f"{title}:", *lines]) + "\n"


def _clean(text: str) -> tuple[str, str]:
    """A docstring's text without markup, in one line, and the default that it names."""
    found = _DEFAULT.search(text)
    documented = (found[1] or found[2]).strip("'\"") if found else ""
    documented = documented.lower() if documented in ("True", "False") else documented
    for superfluous in (_DEFAULT, _NOTE):
        text = superfluous.sub("", text)
    for pattern, replacement in _MARKUP:
        text = re.sub(pattern, replacement, text)
    text = " ".join(text.replace("%%", "%").split())
    if re.match(r"[a-z]+[ ,]", text):
        text = text[0].upper() + text[1:]
    return text, "" if documented == "None" else documented


def _default(action: Action) -> str:
    """The default as it would be typed."""
    default = action.default
    if default is SUPPRESS:
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, (list, tuple)):
        is_one_word = hasattr(action, "_typehint")
        return f"[{', '.join(map(str, default))}]" if is_one_word else " ".join(map(str, default))
    return str(default)


def _kind(action: Action) -> str:
    if action.nargs == 0:
        return ""
    hint = getattr(action, "_typehint", None)
    if hint is None:
        hint = Literal[tuple(action.choices)] if action.choices else action.type
    fallback = action.dest.rpartition(".")[2].upper()
    is_named = action.metavar is not None and not hasattr(action, "_typehint")
    kind = str(action.metavar) if is_named else "|".join(dict.fromkeys(_words(hint)))
    kind = kind if kind and len(kind) <= _LONGEST_KIND else fallback
    return f"{kind} ..." if action.nargs == "+" else kind


def _words(hint: Any) -> Iterator[str]:
    """Words for a type: several for a union."""
    origin = get_origin(hint)
    if origin is Literal:
        yield from (str(value) for value in get_args(hint))
    elif origin in (Union, types.UnionType):
        for member in get_args(hint):
            yield from _words(member)
    elif hint in _KINDS:
        yield _KINDS[hint]
    elif hint in (None, type(None)):
        return
    elif isinstance(origin or hint, type):
        is_list = issubclass(origin or hint, Iterable) and hint is not str
        yield "LIST" if is_list else "CLASS"
