"""Writes files that are either complete or absent, even after a kill or a full disk."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, TextIO

from pauc_lightning.errors import InputError

if sys.platform != "win32":
    import fcntl

_REMEDIES = {
    errno.ENOSPC: "free some space there, or write to another disk",
    errno.EDQUOT: "free some space there, or write to another disk",
    errno.EFBIG: "raise the limit on file sizes (`ulimit -f`)",
    errno.EACCES: "make the directory writable, or write to another one",
    errno.EPERM: "make the directory writable, or write to another one",
    errno.EROFS: "write to another directory",
    errno.EIO: "check the disk, or write to another one",
    errno.ENOTDIR: "write to a directory",
    errno.EEXIST: "write to a directory",
    errno.EISDIR: "give the name of a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}
"""Errors of writing a file, with their remedies."""

_WHILE_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""Errors of a file that is already open; other errors inside the block have another cause."""


@contextmanager
def complete_file(path: Path) -> Iterator[TextIO]:
    """Open a text file for writing; it appears under its name only if the block succeeds."""
    with _complete(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        yield file
        _flush_to_disk(file)


@contextmanager
def complete_binary_file(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file for writing; it appears under its name only if the block succeeds."""
    with _complete(path) as partial, partial.open("wb") as file:
        yield file
        _flush_to_disk(file)


def write_text(path: Path, text: str) -> None:
    """Write a text file completely or not at all."""
    with complete_file(path) as file:
        file.write(text)


def cannot_write(path: Path, error: OSError) -> InputError:
    """The error for a file that could not be written, with the reason and the remedy."""
    remedy = _REMEDIES.get(error.errno or 0, "make sure that files can be written there")
    kept = " The file that was there before is untouched." if os.path.isfile(path) else ""
    return InputError(f"cannot write {path}: {error.strerror or error}; {remedy}.{kept}")


def check_folder(option: str, folder: Path) -> None:
    """Refuse a folder in which no file can be made, before a long computation whose results go there.

    Nothing is written, so a folder that does not exist yet still does not if the computation is interrupted.

    Args:
        option: The option that gave the folder.
        folder: The folder.

    Raises:
        InputError: If it, or the nearest one above it, is a file or may not be written to.
    """
    nearest = next((parent for parent in (folder, *folder.parents) if parent.exists()), Path())
    if not nearest.is_dir():
        raise InputError(f"`{option} {folder}`: {nearest} is a file. Give the name of a directory.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(
            f"`{option} {folder}`: {nearest} may not be written to. Make it writable, or give another directory."
        )


def home_hint(path: str) -> str:
    """A sentence, after a space, for a path that does not exist because ~ stands for the home folder; else empty."""
    return (
        f" A shell puts the home folder for ~ only at the start of a word: write {os.path.expanduser(path)}."
        if path.startswith("~")
        else ""
    )


@contextmanager
def _complete(path: Path) -> Iterator[Path]:
    """Yield the path of an empty file in the same folder that replaces ``path`` if the block succeeds.

    Only a rename within one file system is atomic: a rename from TMPDIR may be a copy, and an interrupted copy leaves
    half a file. The data are flushed to disk before the rename, and the rename before this function returns, so that
    after a power failure there is the old file or the new one.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        partial, descriptor = _create_partial(path)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        yield partial
        try:
            os.replace(partial, path)
        except OSError as error:
            raise cannot_write(path, error) from error
        _flush_directory(path.parent)
    except OSError as error:
        if error.errno in _WHILE_WRITING:
            raise cannot_write(path, error) from error
        raise
    finally:
        with contextlib.suppress(OSError):  # it is gone if it was renamed
            partial.unlink()
        os.close(descriptor)


def _create_partial(path: Path) -> tuple[Path, int]:
    """A new empty file with a unique name, and a descriptor that keeps it locked.

    The lock shows that the writer is alive; the system releases it when the process ends for any reason.
    """
    while True:
        partial = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.partial")
        descriptor = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)  # minus the umask
        _lock(descriptor)
        if partial.exists():  # otherwise another writer removed it as abandoned before it was locked
            return partial, descriptor
        os.close(descriptor)


def _remove_abandoned(path: Path) -> None:
    """Remove the files that killed processes left behind while they wrote ``path``."""
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        with contextlib.suppress(OSError):
            descriptor = os.open(partial, os.O_WRONLY)
            try:
                if _lock(descriptor):
                    partial.unlink()
            finally:
                os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock the file and return whether that succeeded; always False on Windows."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _flush_to_disk(file: IO[str] | BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _flush_directory(directory: Path) -> None:
    """Flush a rename to disk; where directories cannot be flushed, the system does so later."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
