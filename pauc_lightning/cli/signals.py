"""Handling of SIGTERM before training begins."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pauc_lightning.callbacks import RunInterrupted


@contextmanager
def sigterm_raises() -> Iterator[None]:
    """Let SIGTERM raise :class:`RunInterrupted` until training itself takes over the signal.

    Without this the process would end at once while data are prepared, and leave an empty directory behind. An
    existing handler is kept, and an ignored signal stays ignored.
    """
    is_main_thread = threading.current_thread() is threading.main_thread()
    if not is_main_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise(signum: int, frame: FrameType | None) -> None:
    raise RunInterrupted(signum)
