"""Keeps a directory to one command at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from pauc_lightning.errors import InputError

NAME = ".lock"
_SECONDS = 10
"""Seconds to wait for the lock: the data-loading workers of a killed process hold it for up to 5 s."""


@contextlib.contextmanager
def held(folder: Path, user: str) -> Iterator[list[Path]]:
    """Create a directory, and lock it against others within the block.

    The system releases the lock if the process is killed.

    Args:
        folder: The directory, given as ``--out``.
        user: What else may be using it, such as ``pauc compare``.

    Yields:
        The directories that did not exist before, the innermost first.

    Raises:
        InputError: If another process holds the directory, or it cannot be created.
    """
    nearest = next((parent for parent in (folder, *folder.parents) if parent.exists()), Path())
    if not nearest.is_dir():
        raise InputError(f"`--out {folder}`: {nearest} is a file. Give the name of a directory.")
    new = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"`--out {folder}` cannot be created ({error.strerror}): give another --out."
        ) from error
    lock = FileLock(folder / NAME)
    try:
        lock.acquire(timeout=_SECONDS)
    except Timeout:
        raise InputError(
            f"`--out {folder}` is in use by another {user}: wait until it has ended, or give another --out."
        ) from None
    except (OSError, NotImplementedError):
        pass  # no locks on this file system, or it is read-only, which the first write reports
    try:
        yield new
    finally:
        lock.release()
