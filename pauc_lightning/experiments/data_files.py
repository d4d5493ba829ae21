"""Checksums of the files that the settings of the data name, so that a changed file is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from pauc_lightning.cli.given import Given
from pauc_lightning.data.kept_sources import file_state

_BLOCK = 1 << 20


def data_files(arguments: Sequence[str]) -> dict[str, str]:
    """Compute the checksum of every file that a command names as data.

    Folders are not looked into: to read all images of a data set would take too long.

    Args:
        arguments: The command's options and config files, the latter by their paths.

    Returns:
        The checksums by the paths as they were given.
    """
    last = {setting.key: setting.value for setting in Given(arguments).settings}
    named = [value for key, value in last.items() if key.startswith("data.") for value in _texts(value)]
    return {name: checksum for name in named if (checksum := checksum_of(Path(name))) is not None}


def checksum_of(path: Path) -> str | None:
    """The checksum of a file's content; None if there is no such file."""
    return _checksum(path, file_state(path)) if path.is_file() else None


def _texts(value: object) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and item and "\0" not in item and "\n" not in item:
            yield item


@lru_cache(maxsize=64)
def _checksum(path: Path, state: Hashable) -> str:
    """The checksum of a file's content; a file whose ``state`` is known is not read again."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except OSError:
        return "unreadable"  # the training will say what is wrong
    return digest.hexdigest()
