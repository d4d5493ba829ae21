"""What every refusal has in common, whatever was wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

LONGEST = 600
JARGON = (
    "Traceback",
    "Problem with given class_path",
    "Subtypes",
    "Expected a dot import path",
    "Parser key",
    "NestedArg",
    "Namespace(",
    "<class '",
    "usage:",
)
"""Words of the libraries underneath, which a user need not know."""


def check_sentence(text: str, words: Sequence[str]) -> None:
    """One paragraph of a reasonable length that has the words, none of the jargon, and an end."""
    assert "\n" not in text, text
    assert len(text) <= LONGEST, f"{len(text)} characters: {text}"
    assert not [word for word in JARGON if word in text], text
    missing = [word for word in words if word not in text]
    assert not missing, f"{missing} not in: {text}"
    assert re.search(r"[.?]$", text), text


def check_said(stderr: str, words: Sequence[str]) -> None:
    """The last thing that a command said is its error, as one sentence."""
    assert "Traceback" not in stderr, stderr
    lines = [line for line in stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, stderr
    assert stderr.rstrip().endswith(lines[0]), stderr
    check_sentence(lines[0].removeprefix("error: "), words)


def contents(folder: Path) -> Mapping[str, bytes | None]:
    """Everything below a folder: files with their bytes, folders as None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if "__pycache__" not in path.parts
    }
