"""Downloads of archives that survive interruption at any point.

pooch is not used because it restarts interrupted downloads from the beginning, downloads the file once per process,
follows redirects to http and does not limit the size.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import urlsplit

from tqdm import tqdm

from pauc_lightning.data.storage import locked, prepare, remove
from pauc_lightning.data.unpack import unpack
from pauc_lightning.errors import InputError

_CHUNK = 1 << 20
_TIMEOUT = 20.0  # seconds without a byte
_FRUITLESS_TRIES = 3
_GIGABYTE = 10**9
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
# Errors that a retry cannot fix.
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EISDIR)


class Archive(NamedTuple):
    """A file to download.

    Attributes:
        url: Its address; https, unless it is on this machine.
        name: Its file name on this machine.
        md5: Its checksum.
        largest: Limit on its size and on the size of its unpacked contents, in bytes: a few times what the data need,
            to stop an archive or a server that would fill the disk.
    """

    url: str
    name: str
    md5: str
    largest: int = 2 * _GIGABYTE


def fetch(archive: Archive, folder: Path) -> Path:
    """Download ``archive`` to ``folder`` unless it is there, and return its path.

    An interrupted download is continued. The file gets its name only when its checksum is right. If several
    processes call this at once, one downloads and the others wait.
    """
    path = folder / archive.name
    with locked(path):
        if path.exists():
            _check_what_is_there(archive, path)
            return path
        unfinished = path.with_name(path.name + ".unfinished")
        try:
            _download(archive, unfinished)
            is_right = _md5(unfinished) == archive.md5
            if is_right:
                os.replace(unfinished, path)
        except (OSError, http.client.HTTPException) as error:
            raise InputError(_explain_failure(archive, path, error)) from error
        if not is_right:
            remove(unfinished)
            raise InputError(
                f"the file from {archive.url} is damaged or not the expected one: its MD5 sum is not {archive.md5}. "
                f"Try again later, or put the right file at {path} yourself."
            )
    return path


def _check_what_is_there(archive: Archive, path: Path) -> None:
    try:
        is_right = _md5(path) == archive.md5
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}. Move it away, or put the file {archive.url} there."
        ) from error
    if not is_right:
        raise InputError(
            f"{path} is damaged: its MD5 sum is not {archive.md5}. Delete it; the next run downloads it "
            f"again from {archive.url}."
        )


def _explain_failure(archive: Archive, path: Path, error: Exception) -> str:
    if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
        return (
            f"cannot write {archive.url} to {path}: {error.strerror}. Make room there or choose another folder as "
            "`root`; then run again to continue where it stopped, or put the file there yourself."
        )
    reason = error.reason if isinstance(error, urllib.error.URLError) else str(error) or type(error).__name__
    if isinstance(error, urllib.error.HTTPError):
        reason = f"the server answers {error.code}, {reason}"
    return (
        f"cannot download {archive.url}: {reason}. Run again to continue where it stopped, or put the file at {path} "
        "yourself."
    )


def _download(archive: Archive, path: Path) -> None:
    """Append to ``path`` until it is complete; give up when several tries in a row add nothing."""
    _refuse_insecure(archive.url)
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
            remove(path)  # longer than the server's file, so it is not the beginning of it
            continue
        except (OSError, http.client.HTTPException) as broken:
            if isinstance(broken, OSError) and broken.errno in _DISK_ERRORS:
                raise
            error = broken
        after = path.stat().st_size if path.exists() else 0
        fruitless = 0 if after > before else fruitless + 1
        if fruitless == _FRUITLESS_TRIES:
            raise error


def _refuse_insecure(url: str) -> None:
    """Refuse any address but https, whose contents could be altered in transit, unless it is on this machine."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _THIS_MACHINE):
        raise InputError(
            f"{url} is not fetched: downloads are over https only. Use an address with https://."
        )


class _SecureRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to https only."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        _refuse_insecure(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _append(archive: Archive, path: Path) -> bool:
    """Request the missing rest of ``path`` and append it; return whether the server sent all it announced."""
    have = path.stat().st_size if path.exists() else 0
    headers = {"User-Agent": "pauc-lightning"} | ({"Range": f"bytes={have}-"} if have else {})
    request = urllib.request.Request(archive.url, headers=headers)
    with urllib.request.build_opener(_SecureRedirects).open(request, timeout=_TIMEOUT) as reply:
        if reply.status != 206:  # the whole file, although the rest was requested
            have = 0
        promised = reply.headers.get("Content-Length", "")
        total = have + int(promised) if promised.isdecimal() else None
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
                have += len(chunk)
                if have > archive.largest:
                    raise InputError(
                        f"{archive.url} sends more than {archive.largest:,} bytes, which is not the file that was "
                        "expected. Try again later."
                    )
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
    """Download and unpack an archive unless its folder is there, and return the path of the complete folder.

    Args:
        archive: A tar or zip file.
        folder: Folder for the archive and the result.
        inside: The folder at the top of the archive.
        name: Name of the result; by default ``inside``.
    """

    def make(place: Path) -> None:
        path = fetch(archive, folder)
        scratch = place.with_name(place.name + ".scratch")
        remove(scratch)
        try:
            unpack(path, scratch, archive.largest)
            if not (scratch / inside).is_dir():
                raise InputError(
                    f"{path} has no folder {inside}: it is not the archive that was expected. Delete it; the next run "
                    f"downloads it again from {archive.url}."
                )
            os.replace(scratch / inside, place)
        finally:
            remove(scratch)

    result = folder / (name or inside)
    prepare(result, make)
    if not result.is_dir():
        raise InputError(
            f"{result} is not a folder, but the data are expected there: move it away and run again."
        )
    return result
