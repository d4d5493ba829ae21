"""Files and folders that are either complete or absent, made by one process while the others wait."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from pauc_lightning.errors import InputError


def prepare(path: Path, make: Callable[[Path], None]) -> None:
    """Make the file or folder ``path`` unless it exists; it appears under its name only when it is complete.

    ``make`` writes to a neighbouring path that is renamed at the end. If it fails, its output is deleted; if it is
    killed, the next call starts afresh. If several processes call this at once, one works and the others wait; a
    process that dies releases the lock.

    Args:
        path: The file or folder.
        make: Called with the path to write to, which does not exist; its parent folder does.
    """
    if path.exists():
        return
    with locked(path):
        if path.exists():  # another process was faster
            return
        unfinished = path.with_name(path.name + ".unfinished")
        remove(unfinished)
        try:
            make(unfinished)
            os.replace(unfinished, path)
        except BaseException:
            remove(unfinished)
            raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time work on ``path``, whose parent folder is created if necessary."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(path.name + ".lock"))
        lock.acquire()
    except OSError as error:
        raise InputError(
            f"cannot write to {path.parent}: {error.strerror or error}. Choose a folder that you may write to."
        ) from error
    try:
        yield
    finally:
        lock.release()


def remove(path: Path) -> None:
    """Delete a file or a folder if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
