"""Turns the parser's complaints into a sentence that names what was probably meant."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator

from jsonargparse import ArgumentParser
from lightning.pytorch import LightningDataModule
from torch import nn

import pauc_lightning.data
import pauc_lightning.methods
import pauc_lightning.models
from pauc_lightning.methods import PartialAUCModule

_REJECTED_INIT_ARG = re.compile(r"class_path '([\w.]+)':\s+Option '([\w.]+)' is not accepted")
_REJECTED_KEY = re.compile(
    r"(?:does not accept option|[Oo]ption|[Kk]ey) '([\w.]+)'(?: is not (?:accepted|expected))?"
)
_UNRECOGNIZED = re.compile(r"[Uu]nrecognized arguments?: (?:--)?([\w.]+)")
_UNKNOWN_CLASS = re.compile(r"Expected a dot import path string: ([\w.]+)")
_INVALID_CHOICE = re.compile(r"invalid choice: '(\w+)' \(choose from (.+)\)")


def explain(parser: ArgumentParser, message: str) -> str:
    """The parser's message, or a better one: which name is wrong, and the nearest valid one.

    Args:
        parser: The parser that complains; its options are the valid keys.
        message: What it complains about.
    """
    if found := _REJECTED_INIT_ARG.findall(message):
        class_path, key = found[-1]  # the innermost complaint is the cause of the others
        options = sorted(_init_args(class_path))
        name = class_path.rsplit(".", 1)[-1]
        return (
            f"`{key}` is not an option of {name}.{_nearest(key, options)} {name} has: {', '.join(options)}."
        )
    if found := _UNKNOWN_CLASS.findall(message):
        names = sorted(_class_names())
        return (
            f"`{found[-1]}` is not a known class.{_nearest(found[-1], names)} Known: {', '.join(names)}; a class of "
            "your own is given by its import path, such as my_package.MyModel."
        )
    if match := _INVALID_CHOICE.search(message):
        choices = [choice.strip("' ") for choice in match[2].split(",")]
        return f"`{match[1]}` is not one of {', '.join(choices)}.{_nearest(match[1], choices)}"
    for pattern in (_UNRECOGNIZED, _REJECTED_KEY):
        if match := pattern.search(message):
            return f"`{match[1]}` is not an option.{_nearest(match[1], _keys(parser))} See --help for all options."
    return message


def _nearest(name: str, valid: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(valid), n=1, cutoff=0.5)
    return f" Did you mean `{close[0]}`?" if close else ""


def _init_args(class_path: str) -> Iterator[str]:
    module, _, name = class_path.rpartition(".")
    parser = ArgumentParser()
    parser.add_class_arguments(getattr(importlib.import_module(module), name), fail_untyped=False)
    return (key for key in _keys(parser) if key != "help")


def _keys(parser: ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield action.dest
        choices = action.choices
        if isinstance(choices, dict):  # subcommands
            for subparser in choices.values():
                yield from _keys(subparser)


def _is_base(member: type) -> bool:
    return member is PartialAUCModule or inspect.isabstract(member)


def _class_names() -> Iterator[str]:
    for module, base in (
        (pauc_lightning.methods, PartialAUCModule),
        (pauc_lightning.data, LightningDataModule),
        (pauc_lightning.models, nn.Module),
    ):
        for name in module.__all__:
            member = getattr(module, name)
            if isinstance(member, type) and issubclass(member, base) and not _is_base(member):
                yield name
