"""Reports the progress of a training to the code that started it, also out of a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import asdict, dataclass

PIPED = "PAUC_PROGRESS_ON_STDOUT"
"""If this variable is set in the environment, progress is printed for the process that reads the output."""
_MARK = "\x1epauc-progress "
_SECONDS = 0.2
"""The shortest time between two printed lines."""


@dataclass(frozen=True)
class Progress:
    """The progress of a training.

    Args:
        epoch: Number of the current epoch, from 1.
        epochs: Number of epochs in all.
        fraction: The part of all epochs that is done, from 0 to 1.
        value: The latest partial AUC on the validation part.
    """

    epoch: int
    epochs: int
    fraction: float = 0.0
    value: float | None = None


Observer = Callable[[Progress], None]

_observer: ContextVar[Observer | None] = ContextVar("observer", default=None)
_printed_at = 0.0


@contextlib.contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Within the block, send the progress of trainings in this thread to ``observer``."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def report(progress: Progress) -> None:
    """Tell the observer, if there is one."""
    observer = _observer.get()
    if observer is not None:
        observer(progress)
    elif os.environ.get(PIPED):
        _print(progress)


def from_line(line: str) -> Progress | None:
    """Read a line of the output of a process; None if it is not about progress."""
    return Progress(**json.loads(line.removeprefix(_MARK))) if line.startswith(_MARK) else None


def _print(progress: Progress) -> None:
    global _printed_at
    if time.monotonic() - _printed_at >= _SECONDS:
        _printed_at = time.monotonic()
        print(f"{_MARK}{json.dumps(asdict(progress))}", flush=True)
