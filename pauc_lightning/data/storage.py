"""Files that are either whole or not there, made by one process while the others wait."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from pauc_lightning.errors import InputError


def prepare(path: Path, make: Callable[[Path], None]) -> None:
    """Make the file or folder ``path`` unless it is there, so that it is never seen half made.

    ``make`` writes to a neighbouring place that is renamed at the end. If it fails, what it wrote is deleted; if it
    is killed, the next call begins anew. Of several processes that call this at once, one works and the others
    wait; a process that dies releases the lock.

    Args:
        path: What to make.
        make: Called with the place to write to: nothing is there, its parent folder exists.
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
    """Let one process at a time work on ``path``, whose parent folder is made if need be."""
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
    """Delete a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
