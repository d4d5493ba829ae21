"""The parser of the commands that take classes: ``pauc fit|validate|test|predict`` and ``pauc data``."""

from __future__ import annotations

import re
import textwrap
from argparse import Action, _HelpAction
from collections.abc import Iterable
from typing import Any, NoReturn

from jsonargparse import Namespace
from lightning.pytorch.cli import LightningArgumentParser

from pauc_lightning.cli.command_help import PAGES, class_page, command_page
from pauc_lightning.cli.configs import given_configs, read_config
from pauc_lightning.cli.kinds import load_known_classes
from pauc_lightning.cli.pages import show_page
from pauc_lightning.cli.settings import LINKED_FROM_DATA
from pauc_lightning.cli.suggestions import explain


class PaucArgumentParser(LightningArgumentParser):
    """A parser whose errors are one sentence that quotes what was given, and whose help fits a few screens.

    It takes no abbreviations: they would let typos pass, and change their meaning when another option is added.
    """

    command = ""
    """The command whose help page this parser prints, if it is one of those on runs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        load_known_classes()
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})
        self._given: list[str] = []

    def parse_args(self, args: Any = None, *more: Any, **kwargs: Any) -> Namespace:  # type: ignore[override]
        """Parse, and remember the arguments for the error messages."""
        self.remember_given(args or ())
        namespace: Namespace = super().parse_args(args, *more, **kwargs)
        return namespace

    def remember_given(self, args: Iterable[str]) -> None:
        """Remember the arguments for the error messages."""
        self._given = list(args)

    def get_defaults(self, *args: Any, **kwargs: Any) -> Namespace:
        """The defaults; those of a method are unknown until it is named, even if some of its settings come before.

        jsonargparse would fill in all defaults of the base class and keep them once the method is named: with
        ``--model.backbone=MLPScorer --model=PAUCI``, PAUCI would train without its default clipping.
        """
        defaults: Namespace = super().get_defaults(*args, **kwargs)
        if "model" in defaults and defaults.model is None and self._is_model_given():
            defaults["model.class_path"] = "pauc_lightning.methods.PartialAUCModule"
        return defaults

    def _is_model_given(self) -> bool:
        return any(argument.startswith("--model") for argument in self._given) or any(
            "model" in read_config(path) for path in given_configs(self._given)
        )

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Say what is wrong and what was probably meant, and exit with status 2."""
        if not self.exit_on_error:  # jsonargparse is trying one of several possible classes
            super().error(message, ex)
        self.exit(2, f"error: {explain(self, message, self._given)}\n")

    # ------------------------------------------------------------------ help

    def add_help_options(self, command: str) -> None:
        """Make this the parser of a command on runs: a short page for ``--help``, all options for ``--help_all``."""
        self.command = command
        self.usage = f"pauc {PAGES[command].usage}"
        self.add_argument("--help_all", action=_FullHelp, help="show all options and exit")
        self.add_argument(
            "--trainer.help", action=_TrainerHelp, help="explain the Trainer's settings and exit"
        )

    def format_help(self, *args: Any) -> str:
        """The short page of a command, or the page of the class that ``--model.help`` and its like ask for."""
        if self.command:
            return command_page(self.command, self._actions)
        if found := re.fullmatch(r"Help for --(\S+)\.help=(\S+)", self.description or ""):
            return self._class_help(*found.groups())
        return self.format_full_help(*args)

    def format_full_help(self, *args: Any) -> str:
        """The page with all options."""
        return _shorten(super().format_help(*args))

    def print_help(self, file: Any = None) -> None:
        """Print the page, in colour on a terminal."""
        show_page(self.format_help())

    def _class_help(self, option: str, path: str) -> str:
        summary = next((group.title for group in self._action_groups if group._group_actions), "") or ""
        hidden = [f"{option}.{name}" for name in LINKED_FROM_DATA]
        return class_page(f"--{option} {path.rpartition('.')[2]}", summary, self._actions, hidden)


class _FullHelp(_HelpAction):
    def __call__(self, parser: Any, *args: Any, **kwargs: Any) -> None:
        show_page(parser.format_full_help())
        parser.exit()


class _TrainerHelp(_HelpAction):
    def __call__(self, parser: Any, *args: Any, **kwargs: Any) -> None:
        actions: list[Action] = [action for action in parser._actions if action.dest.startswith("trainer.")]
        show_page(class_page("--trainer", "The settings of Lightning's Trainer.", actions))
        parser.exit()


_SUBCLASSES = re.compile(r"^( +)([^\n]*?)known\s+subclasses:\s+(.*?)\)", flags=re.DOTALL | re.MULTILINE)
_MANY = 15


def _shorten(text: str) -> str:
    """Leave only this project's backbones in long lists of known subclasses.

    Example:
        >>> names = ", ".join(f"torch.nn.Layer{i}" for i in range(20))
        >>> print(_shorten(f"    (known subclasses: {names}, pauc_lightning.models.SmallCNN)"))
            (known subclasses: pauc_lightning.models.SmallCNN, or the import
            path of your own class)
    """

    def replace(match: re.Match[str]) -> str:
        indent, before, names = match.groups()
        classes = re.sub(r"\s", "", names).split(",")
        ours = [name for name in classes if name.startswith("pauc_lightning.models.")]
        if len(classes) <= _MANY or not ours:
            return match.group(0)
        sentence = f"{before}known subclasses: {', '.join(ours)}, or the import path of your own class)"
        width = max(70, len(indent) + 56)
        return textwrap.fill(
            sentence, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False
        )

    return _SUBCLASSES.sub(replace, text)
