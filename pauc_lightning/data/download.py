"""Getting an archive and unpacking it, in a way that survives being interrupted anywhere."""

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
# What no second try can help against.
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EISDIR)


class Archive(NamedTuple):
    """A file on the net.

    Attributes:
        url: Where it is; https, unless it is on this machine.
        name: What it is called here.
        md5: Its checksum.
        largest: How many bytes it and its unpacked contents may have at most. A few times what the data need: it
            stops an archive or a server that would fill the disk.
    """

    url: str
    name: str
    md5: str
    largest: int = 2 * _GIGABYTE


def fetch(archive: Archive, folder: Path) -> Path:
    """Download ``archive`` to ``folder`` unless it is there, and return its path.

    What an interrupted download left is continued. The file gets its name only when its checksum is right. Of
    several processes that call this at once, one downloads and the others wait.
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
                f"what {archive.url} delivers is damaged or another file: its MD5 sum is not {archive.md5}. Try "
                f"again later, or put the right file at {path} yourself."
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
    """Append to ``path`` until it is complete; give up when several tries in a row bring nothing."""
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
            remove(path)  # more bytes than the server has: not a beginning of this file
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
    """Refuse what others could change on its way; what comes from this machine crosses no network."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _THIS_MACHINE):
        raise InputError(
            f"{url} is not fetched: downloads are over https only. Use an address with https://."
        )


class _SecureRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a server's pointer to another address only if that is https as well."""

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
    """Ask for what ``path`` lacks and append what comes; whether the server sent all it promised."""
    have = path.stat().st_size if path.exists() else 0
    headers = {"User-Agent": "pauc-lightning"} | ({"Range": f"bytes={have}-"} if have else {})
    request = urllib.request.Request(archive.url, headers=headers)
    with urllib.request.build_opener(_SecureRedirects).open(request, timeout=_TIMEOUT) as reply:
        if reply.status != 206:  # all of it, whatever was asked for
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
