"""Files that are either complete or absent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def complete_file(path: Path) -> Iterator[TextIO]:
    """Open a text file for writing that appears under its name only when the block has ended well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", newline="") as file:
        yield file
    os.replace(partial, path)


def write_text(path: Path, text: str) -> None:
    """Write a text file, all of it or nothing."""
    with complete_file(path) as file:
        file.write(text)
