"""Run directories: how they are found, claimed, locked and released."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from pauc_lightning.errors import InputError
from pauc_lightning.run_directory import RunDirectory

_LOCK = ".lock"
_LEFT_BY_A_REFUSED_RUN = {
    *("config.yaml", "hparams.yaml", "preprocessing.json", "versions.json"),
    *("code", "tensorboard", _LOCK),
}

_LOCK_SECONDS = 10
"""Seconds to wait for the lock: the workers of a killed run hold it for up to 5 s more."""


def find_checkpoint(name: str, configs: Sequence[Path]) -> Path:
    """The checkpoint called ``best`` or ``last`` of the run that contains one of the config files."""
    runs = [run for run in map(RunDirectory.of_config, configs) if run is not None]
    if not runs:
        raise InputError(
            f"`ckpt_path={name}`: which run's? Name the run, as in `pauc test runs/<name>/version_<n> "
            f"--ckpt_path {name}`, or give the path of the .ckpt file."
        )
    return runs[-1].checkpoint(name)


def claim_version(folder: Path) -> int:
    """Create the first free ``version_N`` in ``folder``; concurrent processes get different ones."""
    taken = [_version(child) for child in folder.glob("version_*")] if folder.is_dir() else []
    for version in count(max(taken, default=-1) + 1):
        try:
            # mkdir is atomic: it succeeds in one process only.
            (folder / f"version_{version}").mkdir(parents=True)
        except FileExistsError:
            if folder.is_dir():
                continue
            raise
        return version
    raise AssertionError("unreachable")


@contextmanager
def held(run: Path) -> Iterator[None]:
    """Hold the lock of a run; the system releases it if the process is killed.

    Args:
        run: The run's directory, which exists.
    """
    lock = FileLock(run / _LOCK)
    try:
        lock.acquire(timeout=_LOCK_SECONDS)
    except Timeout:
        raise InputError(
            f"The run {relative(run)} is being trained by another process: wait until that has ended, or stop it first."
        ) from None
    except (OSError, NotImplementedError):
        pass  # no locks on this file system, or it is read-only, which saving will report
    try:
        yield
    finally:
        lock.release()


def release(path: Path) -> None:
    """Remove a claimed directory in which nothing has been recorded, and its parents if they become empty."""
    if not path.is_dir() or {child.name for child in path.iterdir()} - _LEFT_BY_A_REFUSED_RUN:
        return
    for child in path.iterdir():
        shutil.rmtree(child) if child.is_dir() else child.unlink()
    for folder in (path, path.parent, path.parent.parent):
        try:
            folder.rmdir()
        except OSError:  # not empty
            return


def relative(path: str | Path) -> str:
    """The path as a user would type it in the current directory."""
    short = os.path.relpath(path)
    return str(path) if short.startswith("..") else short


def _version(folder: Path) -> int:
    number = folder.name.removeprefix("version_")
    return int(number) if number.isdecimal() else -1
