"""Unpacking of untrusted archives."""

from __future__ import annotations

import gzip
import lzma
import os
import shutil
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from tqdm import tqdm

from pauc_lightning.errors import InputError

_CHUNK = 1 << 20
_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,  # zipfile: an encrypted entry
    NotImplementedError,  # zipfile: an unknown compression
)


class _Entry(NamedTuple):
    """An entry of an archive.

    Attributes:
        name: Its path.
        kind: "file", "folder", or a description of anything else.
        size: Size of a file when unpacked, in bytes.
        open: Opens a file.
    """

    name: str
    kind: str
    size: int
    open: Callable[[], IO[bytes]]


def unpack(path: Path, place: Path, largest: int) -> None:
    """Unpack a tar or zip file into the new folder ``place``; it may contain only files and folders.

    Links, devices, paths that lead out of ``place``, contents of more than ``largest`` bytes and damaged archives
    raise an :class:`InputError`. The caller must then delete the incomplete folder.

    Args:
        path: The archive.
        place: The folder, which must not exist.
        largest: Limit on the size of all files together, in bytes.
    """
    try:
        place.mkdir(parents=True)
        bar = tqdm(desc=f"unpacking {path.name}", unit=" files", file=sys.stderr)
        with bar:
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as zip_file:
                    bar.reset(total=len(zip_file.infolist()))
                    _unpack_entries(path, _zip_entries(zip_file), place, largest, bar)
            else:
                with tarfile.open(path) as tar_file:
                    _unpack_entries(path, _tar_entries(tar_file), place, largest, bar)
                    _check_the_end(tar_file, bar.n)
    except _DAMAGE as error:
        raise InputError(f"cannot unpack {path}: {error}. Delete it and run again.") from error
    except OSError as error:
        raise InputError(
            f"cannot unpack {path} into {place.parent}: {error.strerror or error}. Make room there or choose another "
            "folder as `root`, and run again."
        ) from error


def _unpack_entries(
    path: Path, entries: Iterator[_Entry], place: Path, largest: int, bar: tqdm[None]
) -> None:
    total = 0
    for entry in entries:
        total += entry.size
        _check(path, entry, total, largest)
        target = place / entry.name
        if entry.kind == "folder":
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            with entry.open() as source, open(target, "wb") as file:
                shutil.copyfileobj(source, file, _CHUNK)
        bar.update()


def _check(path: Path, entry: _Entry, total: int, largest: int) -> None:
    """Refuse an entry that does not belong in the archive of a data set."""
    inside = PurePosixPath(entry.name.replace(os.sep, "/"))
    trap = ""
    if entry.kind not in ("file", "folder"):
        trap = f"has {entry.kind}, {entry.name!r}"
    elif inside.is_absolute() or Path(entry.name).drive or ".." in inside.parts or "\0" in entry.name:
        trap = f"has a path that leads out of its folder, {entry.name!r}"
    elif total > largest:
        trap = f"has contents of more than {largest:,} bytes"
    if trap:
        raise InputError(
            f"{path} {trap}, which these data do not have, so it was not unpacked. Delete it; the next run downloads "
            "it again."
        )


def _zip_entries(zip_file: zipfile.ZipFile) -> Iterator[_Entry]:
    for info in zip_file.infolist():
        kind = "folder" if info.is_dir() else "file"
        if stat.S_ISLNK(info.external_attr >> 16):
            kind = "a symbolic link"
        yield _Entry(info.filename, kind, info.file_size, partial(zip_file.open, info))


def _tar_entries(tar_file: tarfile.TarFile) -> Iterator[_Entry]:
    for member in tar_file:
        if member.isreg():
            kind = "file"
        elif member.isdir():
            kind = "folder"
        elif member.issym():
            kind = "a symbolic link"
        elif member.islnk():
            kind = "a hard link"
        else:
            kind = "a device or pipe"
        yield _Entry(member.name, kind, member.size, partial(_contents, tar_file, member))


def _contents(tar_file: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    contents = tar_file.extractfile(member)
    assert contents is not None  # it is a regular file
    return contents


def _check_the_end(tar_file: tarfile.TarFile, n: int) -> None:
    """Refuse an archive that was not read to its end.

    tarfile stops at a damaged entry as if the archive ended there, but only zeros may follow the end. Reading them
    also makes gzip compare its checksum.
    """
    assert tar_file.fileobj is not None
    while chunk := tar_file.fileobj.read(_CHUNK):
        if chunk.strip(b"\0"):
            raise tarfile.ReadError(f"an entry after the first {n} is damaged")
