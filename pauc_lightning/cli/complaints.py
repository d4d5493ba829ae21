"""The innermost of the parser's nested complaints, and the user's input that caused it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from jsonargparse import ArgumentParser

from pauc_lightning.cli.given import Given
from pauc_lightning.cli.kinds import KINDS, Kind


@dataclass(frozen=True)
class Complaint:
    """The innermost of the parser's nested complaints, which caused the others.

    Args:
        key: The dotted name of the option it is about; empty if the parser does not tell.
        owner: Import path of the class that has this option, or was to have it; empty if there is none.
        text: The complaint.
    """

    key: str
    owner: str
    text: str


def innermost(message: str) -> Complaint:
    """Find the innermost complaint by its indentation."""
    lines = message.splitlines()
    keys: list[tuple[int, str]] = []  # indentation and name of the option and of its parents
    deepest: list[tuple[int, str]] = []
    start = 0
    for number, line in enumerate(lines):
        if found := re.search(r'Parser key "([\w.]+)"', line):
            indent = found.start()
            keys = [(other, name) for other, name in keys if other < indent and name != found[1]]
            keys.append((indent, found[1]))
            if len(keys) > len(deepest):
                deepest, start = list(keys), number
    if not deepest:
        return Complaint("", "", message)
    indent = deepest[-1][0]
    inside = takewhile(lambda line: not line.strip() or _indentation(line) > indent, lines[start + 1 :])
    text = "\n".join([lines[start], *(inside if indent else lines[start + 1 :])])
    before = "\n".join([*lines[:start], text])
    return Complaint(
        ".".join(name for _, name in deepest),
        last_match(r"Problem with given class_path '([\w.]+)'", before),
        text,
    )


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


@dataclass(frozen=True)
class Context:
    """A complaint, the parser that made it, and the user's input."""

    parser: ArgumentParser
    given: Given
    complaint: Complaint

    @property
    def command(self) -> str:
        """The command as the user typed it."""
        return self.parser.prog.partition(" [options]")[0]

    @property
    def kind(self) -> Kind | None:
        """The kind of class that the option takes."""
        return KINDS.get(self.complaint.key.rpartition(".")[2])

    def quote(self, value: object = "") -> str:
        """The option as the user wrote it."""
        key = self.complaint.key
        setting = self.given.find(key, value)
        return setting.quote if setting else f"`--{key}={value}`"


def last_match(pattern: str, text: str) -> str:
    """The group of the pattern's last match; empty without a match."""
    found: list[str] = re.findall(pattern, text)
    return found[-1] if found else ""


def one_line(message: str) -> str:
    """A message without line breaks, bullets and the final full stop."""
    lines = (line.strip().removeprefix("- ") for line in message.splitlines())
    return " ".join(line for line in lines if line).rstrip(".")
