"""Run directories: their contents, and how they are claimed, locked and released."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from pauc_lightning.errors import InputError

_LOCK = ".lock"
_LEFT_BY_A_REFUSED_RUN = {
    *("config.yaml", "hparams.yaml", "preprocessing.json", "versions.json"),
    *("tensorboard", _LOCK),
}

_LOCK_SECONDS = 10
"""Seconds to wait for the lock: the workers of a killed run hold it for up to 5 s more."""


@dataclass(frozen=True)
class RunDirectory:
    """The directory of one training run.

    Args:
        path: The directory, such as ``runs/DigitsLT-CE/version_0``.
    """

    path: Path

    @property
    def config(self) -> Path:
        """The settings of the run."""
        return self.path / "config.yaml"

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / "checkpoints"

    @classmethod
    def open(cls, text: str) -> RunDirectory:
        """The run at a path that a user typed; :class:`InputError` suggests a run if there is none at the path."""
        path = Path(text)
        run = cls(path)
        if run.config.is_file():
            return run
        if not path.exists():
            raise InputError(
                f"`{text}`: no such run. A run is a directory such as runs/DigitsLT-CE/version_0."
            )
        if path.is_file():
            raise InputError(
                f"`{text}` is a file, not a run: give the run's directory, such as runs/DigitsLT-CE/version_0."
            )
        versions = [child for child in path.glob("version_*") if (child / "config.yaml").is_file()]
        if versions:
            newest = max(versions, key=lambda child: child.stat().st_mtime)
            raise InputError(
                f"`{text}` is not a run but holds {len(versions)}: name one, for example the newest, {newest}."
            )
        raise InputError(
            f"`{text}` is not a run: it has no config.yaml. Give a directory that `pauc fit` made."
        )

    @classmethod
    def of_config(cls, config: Path) -> RunDirectory | None:
        """The run that contains a config file, if any."""
        run = cls(Path(os.path.abspath(config)).parent)
        return run if run.checkpoints.is_dir() else None

    @classmethod
    def of_checkpoint(cls, checkpoint: Path) -> RunDirectory | None:
        """The run that contains a checkpoint, if any."""
        folder = Path(os.path.abspath(checkpoint)).parent
        return cls(folder.parent) if folder.name == "checkpoints" else None

    def checkpoint(self, name: str) -> Path:
        """The checkpoint called ``best`` or ``last``."""
        path = self.checkpoints / f"{name}.ckpt"
        if path.is_file():
            return path
        there = sorted(other.stem for other in self.checkpoints.glob("*.ckpt"))
        if there:
            remedy = f"It has {' and '.join(there)}: use --ckpt_path {there[0]}."
        else:
            remedy = f"It was stopped before its first one: start again with `pauc fit -c {self.config}`."
        raise InputError(f"The run {self.path} has no {name} checkpoint. {remedy}")


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
