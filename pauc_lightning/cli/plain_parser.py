"""A parser of plain options, for the commands that do not use Lightning's."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from pauc_lightning.arguments import percent_hint
from pauc_lightning.cli.nearest import nearest
from pauc_lightning.cli.options import Option, filled, page_width, section
from pauc_lightning.cli.pages import show_page
from pauc_lightning.errors import InputError


class PlainParser(argparse.ArgumentParser):
    """argparse's parser with this project's help pages and messages; it takes no abbreviations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def error(self, message: str) -> NoReturn:
        """Raise :class:`InputError`."""
        raise InputError(self._sentence(message))

    def format_help(self) -> str:
        """The help page: usage, description, options with their defaults, epilog."""
        width = page_width()
        actions = [action for action in self._actions if action.help != argparse.SUPPRESS]
        positional = [Option.of_action(action) for action in actions if not action.option_strings]
        options = [Option.of_action(action) for action in actions if action.option_strings]
        called = " ".join([self.prog, *(option.name for option in positional), "[options]"])
        blocks = [f"usage: {self.usage or called}\n", *filled(self.description or "", width)]
        blocks.append(section("Options", [*positional, *options], width))
        return "\n".join([*blocks, *filled(self.epilog or "", width)])

    def print_help(self, file: Any = None) -> None:
        """Print the help page, in colour on a terminal."""
        show_page(self.format_help())

    def _sentence(self, message: str) -> str:
        see = f"`{self.prog} --help` lists what can be given."
        if match := re.search(r"argument (\S+): invalid choice: '?(.*?)'? \(choose from (.*)\)", message):
            choices = [choice.strip("' ") for choice in match[3].split(",")]
            close = nearest(match[2], choices)
            return f"`{self.prog}`: {match[1]} `{match[2]}` does not exist.{close} Choose from {', '.join(choices)}."
        if match := re.search(r"unrecognized arguments: ([^\s=]+)", message):
            close = nearest(match[1], self._options())
            return f"`{match[1]}` is not an option of `{self.prog}`.{close} {see}"
        if match := re.search(r"argument (\S+): invalid (?:(\w+) )?value: '?(.*?)'?$", message):
            wanted = {"int": "a whole number", "float": "a number"}.get(match[2], "another value")
            hint = percent_hint(match[3]) if match[2] == "float" else ""
            end = f": {hint}." if hint else f". {see}"
            return f"`{match[1]} {match[3]}`: give {wanted}{end}"
        if match := re.search(r"argument (\S+): expected", message):
            return f"`{match[1]}` needs a value: write `{match[1].rpartition('/')[2]} <value>`. {see}"
        if match := re.search(r"the following arguments are required: (.*)", message):
            return f"`{self.prog}` needs {match[1].split(',')[0]}: add it. {see}"
        return f"`{self.prog}`: {message}. {see}"

    def _options(self) -> Iterator[str]:
        return (option for action in self._actions for option in action.option_strings)
