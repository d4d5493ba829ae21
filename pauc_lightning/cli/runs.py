"""Run directories: what is in one, how a new one is claimed, and ``pauc test RUN`` for ``-c ... --ckpt_path ...``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from pauc_lightning.cli import predict
from pauc_lightning.errors import InputError

COMMANDS = ("resume", "test", "validate", "predict")
"""Commands that take a run directory as their first argument."""

_LOCK = ".lock"
_LEFT_BY_A_REFUSED_RUN = {"config.yaml", "hparams.yaml", "preprocessing.json", _LOCK}

_LOCK_SECONDS = 10
"""Longer than the workers of a killed run live on (5 s), which hold its lock as well."""


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
        """The run at a path that a user typed; an error that names the nearest run if there is none."""
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
                f"`{text}` holds {len(versions)} runs: name one of them, for example the newest, {newest}."
            )
        raise InputError(
            f"`{text}` is not a run: it has no config.yaml. Give a directory that `pauc fit` made."
        )

    @classmethod
    def of_config(cls, config: Path) -> RunDirectory | None:
        """The run that a config file belongs to, if it lies in one."""
        run = cls(Path(os.path.abspath(config)).parent)
        return run if run.checkpoints.is_dir() else None

    @classmethod
    def of_checkpoint(cls, checkpoint: Path) -> RunDirectory | None:
        """The run that a checkpoint belongs to, if it lies in one."""
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


def translate(arguments: Sequence[str]) -> list[str]:
    """Write ``COMMAND RUN options`` as the options that Lightning's command line knows.

    Example:
        >>> translate(["fit", "-c", "my.yaml"])
        ['fit', '-c', 'my.yaml']
    """
    command, *rest = arguments
    if command not in COMMANDS:
        return list(arguments)
    if not rest or rest[0].startswith("-"):
        if command == "resume" and not any(_asks_for_help(option) for option in rest):
            raise InputError("`pauc resume` needs the run's directory: pauc resume runs/<name>/version_<n>.")
        if command == "predict" and any(option.split("=")[0] == "--input" for option in rest):
            raise InputError(
                "`--input` needs the run's directory: pauc predict runs/<name>/version_<n> --input ..."
            )
        return ["fit" if command == "resume" else command, *rest]
    run, *options = rest
    directory = RunDirectory.open(run)
    config = str(directory.config)
    if command == "resume":
        return ["fit", "-c", config, "--ckpt_path", "last", *options]
    if command == "predict":
        options = predict.translate_options(directory.path, options)
    return [command, "-c", config, "--ckpt_path", "best", *options]


def _asks_for_help(option: str) -> bool:
    name = option.partition("=")[0]
    return name in ("-h", "--help", "--help_all") or name.endswith(".help")


def find_checkpoint(name: str, configs: Sequence[Path]) -> Path:
    """The checkpoint called ``best`` or ``last`` of the run that one of the config files belongs to."""
    runs = [run for run in map(RunDirectory.of_config, configs) if run is not None]
    if not runs:
        raise InputError(
            f"`ckpt_path={name}`: which run's? Name the run, as in `pauc test runs/<name>/version_<n> "
            f"--ckpt_path {name}`, or give the path of the .ckpt file."
        )
    return runs[-1].checkpoint(name)


def claim_version(folder: Path) -> int:
    """Create the first free ``version_N`` in ``folder``; of several processes each gets its own."""
    taken = [_version(child) for child in folder.glob("version_*")] if folder.is_dir() else []
    for version in count(max(taken, default=-1) + 1):
        try:
            # The system creates a directory for exactly one of those who ask.
            (folder / f"version_{version}").mkdir(parents=True)
        except FileExistsError:
            if folder.is_dir():
                continue
            raise
        return version
    raise AssertionError("unreachable")


@contextmanager
def held(run: Path) -> Iterator[None]:
    """Train in a run as the only process; the system ends the hold of a process that is killed.

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
        pass  # a file system without locks, or one that cannot be written, which is said when the run is to be saved
    try:
        yield
    finally:
        lock.release()


def release(path: Path) -> None:
    """Remove a claimed directory in which nothing has been recorded yet, and parents that are empty then."""
    if not path.is_dir() or {child.name for child in path.iterdir()} - _LEFT_BY_A_REFUSED_RUN:
        return
    for child in path.iterdir():
        child.unlink()
    for folder in (path, path.parent, path.parent.parent):
        try:
            folder.rmdir()
        except OSError:  # others have something there
            return


def relative(path: str | Path) -> str:
    """The path as a user would type it from here."""
    short = os.path.relpath(path)
    return str(path) if short.startswith("..") else short


def _version(folder: Path) -> int:
    number = folder.name.removeprefix("version_")
    return int(number) if number.isdecimal() else -1
