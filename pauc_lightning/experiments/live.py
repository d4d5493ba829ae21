"""Reports the progress of a training to the code that started it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass


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
