"""Getting an archive and unpacking it, in a way that survives being interrupted anywhere."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

from tqdm import tqdm

from pauc_lightning.data.storage import locked, prepare, remove
from pauc_lightning.errors import InputError

_CHUNK = 1 << 20
_TIMEOUT = 20.0  # seconds without a byte
_FRUITLESS_TRIES = 3


class Archive(NamedTuple):
    """A file on the net.

    Attributes:
        url: Where it is.
        name: What it is called here.
        md5: Its checksum.
    """

    url: str
    name: str
    md5: str


def fetch(archive: Archive, folder: Path) -> Path:
    """Download ``archive`` to ``folder`` unless it is there, and return its path.

    What an interrupted download left is continued. The file gets its name only when its checksum is right. Of
    several processes that call this at once, one downloads and the others wait.
    """
    path = folder / archive.name
    with locked(path):
        if path.exists():
            if _md5(path) != archive.md5:
                raise InputError(
                    f"{path} is damaged: its MD5 sum is not {archive.md5}. Delete it; the next run downloads it "
                    f"again from {archive.url}."
                )
            return path
        unfinished = path.with_name(path.name + ".unfinished")
        try:
            _download(archive, unfinished)
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise InputError(
                f"cannot download {archive.url}: {reason}. Run again to continue where it stopped, or put the file at "
                f"{path} yourself."
            ) from error
        if _md5(unfinished) != archive.md5:
            remove(unfinished)
            raise InputError(
                f"what {archive.url} delivers is damaged or another file: its MD5 sum is not {archive.md5}. Try "
                f"again later, or put the right file at {path} yourself."
            )
        os.replace(unfinished, path)
    return path


def _download(archive: Archive, path: Path) -> None:
    """Append to ``path`` until it is complete; give up when several tries in a row bring nothing."""
    sys.stderr.write(f"Connecting to {archive.url} ...\n")
    fruitless = 0
    while True:
        before = path.stat().st_size if path.exists() else 0
        try:
            if _append(archive, path):
                return
            error: Exception = ConnectionError("the connection broke off")
        except urllib.error.HTTPError as refusal:
            if refusal.code != 416 or before == 0:
                raise
            remove(path)  # more bytes than the server has: not a beginning of this file
            continue
        except (OSError, http.client.HTTPException) as broken:
            error = broken
        after = path.stat().st_size if path.exists() else 0
        fruitless = 0 if after > before else fruitless + 1
        if fruitless == _FRUITLESS_TRIES:
            raise error


def _append(archive: Archive, path: Path) -> bool:
    """Ask for what ``path`` lacks and append what comes; whether the server sent all it promised."""
    have = path.stat().st_size if path.exists() else 0
    headers = {"User-Agent": "pauc-lightning"} | ({"Range": f"bytes={have}-"} if have else {})
    with urllib.request.urlopen(
        urllib.request.Request(archive.url, headers=headers), timeout=_TIMEOUT
    ) as reply:
        if reply.status != 206:  # all of it, whatever was asked for
            have = 0
        promised = reply.headers.get("Content-Length")
        total = None if promised is None else have + int(promised)
        with (
            open(path, "ab" if have else "wb") as file,
            tqdm(
                desc=f"downloading {archive.name}",
                initial=have,
                total=total,
                unit="B",
                unit_scale=True,
                file=sys.stderr,
            ) as bar,
        ):
            while chunk := reply.read(_CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
        return total is None or path.stat().st_size == total


def _md5(path: Path) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def fetch_and_unpack(archive: Archive, folder: Path, inside: str, name: str | None = None) -> Path:
    """The folder ``inside`` of an archive, downloaded and unpacked below ``folder`` unless it is there.

    Args:
        archive: A tar or zip file.
        folder: Where the archive is kept and the result is put.
        inside: The one folder at the top of the archive.
        name: What this folder is to be called here, if not ``inside``.

    Returns:
        The path of the unpacked folder, which is complete.
    """

    def make(place: Path) -> None:
        path = fetch(archive, folder)
        scratch = place.with_name(place.name + ".scratch")
        remove(scratch)
        try:
            _unpack(path, scratch)
        except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(f"cannot unpack {path}: {error}. Delete it and run again.") from error
        if not (scratch / inside).is_dir():
            raise InputError(f"{path} has no folder {inside}: it is not the archive that was expected.")
        os.replace(scratch / inside, place)
        remove(scratch)

    result = folder / (name or inside)
    prepare(result, make)
    return result


def _unpack(path: Path, place: Path) -> None:
    bar = tqdm(desc=f"unpacking {path.name}", unit=" files", file=sys.stderr)
    if zipfile.is_zipfile(path):
        with bar, zipfile.ZipFile(path) as zip_file:
            bar.reset(total=len(zip_file.namelist()))
            for name in zip_file.namelist():
                zip_file.extract(name, place)
                bar.update()
        return
    with bar, tarfile.open(path) as tar_file:
        for member in tar_file:
            # Refuses paths that lead out of the folder; the first releases of Python 3.10 do not have it.
            if hasattr(tarfile, "data_filter"):
                tar_file.extract(member, place, filter="data")
            else:
                tar_file.extract(member, place)
            bar.update()
        # At a damaged entry tarfile stops as if the archive ended there. What follows the end is zeros, and
        # reading all of it makes gzip compare its checksum.
        assert tar_file.fileobj is not None
        while chunk := tar_file.fileobj.read(_CHUNK):
            if chunk.strip(b"\0"):
                raise tarfile.ReadError(f"an entry after the first {bar.n} is damaged")
