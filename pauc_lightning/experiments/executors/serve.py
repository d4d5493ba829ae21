"""The process of a :class:`~pauc_lightning.experiments.executors.worker.Worker`: ``python -m`` this module.

Jobs arrive on standard input, what they report leaves on standard output. With arguments it is another process of a
distributed job: Lightning starts those by running the command line of the first again.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Sequence
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # at run time later: Ctrl-C must be ignored before the seconds of importing
    from pauc_lightning.experiments.executors.messages import Event, Outcome, Task
    from pauc_lightning.experiments.live import Progress

_SECONDS_BETWEEN_REPORTS = 0.1


def main() -> None:
    """Run jobs until standard input is closed, or be another process of a distributed job."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]  # the current directory, which `python -m` puts before all others
    if sys.argv[1:]:
        _be_another_rank(sys.argv[1:])
        return
    server = _Server()
    with contextlib.suppress(BrokenPipeError):  # the process that started this one is gone
        server.run()


class _Server:
    """Runs the jobs that arrive."""

    def __init__(self) -> None:
        self._inbox, self._outbox = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        # What libraries print must not mix with the messages; the worker's owner reads it if this process dies.
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._let_go)
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._is_busy = False
        self._is_told_to_stop = False

    def run(self) -> None:
        """Run jobs until there are no more."""
        import pauc_lightning.cli.app  # noqa: F401  # the seconds that every job would need
        from pauc_lightning.cli import main
        from pauc_lightning.experiments.inner_run import InnerRuns

        self._inner_runs = InnerRuns(main)
        threading.Thread(target=self._listen, daemon=True).start()
        while (task := self._tasks.get()) is not None:
            self._is_busy = True
            outcome = self._outcome(task)
            self._is_busy = False
            self._send(outcome)

    def _outcome(self, task: Task) -> Outcome:
        from pauc_lightning.callbacks import RunInterrupted
        from pauc_lightning.experiments.executors.messages import Done, Stopped
        from pauc_lightning.experiments.executors.run_job import run_here, run_job
        from pauc_lightning.experiments.inner_run import RunStopped, Said

        if task.is_alone:
            sys.argv[1:] = task.job.arguments
        self._is_told_to_stop = False
        run = run_here if task.is_alone else run_job
        try:
            signal.signal(signal.SIGTERM, self._on_sigterm)
            ended = run(task.job, self._inner_runs, _Observer(self._send))
        except RunStopped as stopped:
            return Stopped(stopped.said)
        except RunInterrupted:  # before or after the command itself
            return Stopped(Said(""))
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if ended.failure is not None and self._is_told_to_stop:
            return Stopped(ended.said)
        return Done(ended.said, ended.failure)

    def _on_sigterm(self, signum: int, frame: FrameType | None) -> None:
        """Stop a job that does not train at the moment; while it trains, it takes over the signal."""
        from pauc_lightning.callbacks import RunInterrupted

        self._is_told_to_stop = True
        raise RunInterrupted(signum)

    def _send(self, event: Event) -> None:
        pickle.dump(event, self._outbox)
        self._outbox.flush()

    def _listen(self) -> None:
        """Pass on the jobs. When there are no more, nobody waits for this process: stop the job, too."""
        from pauc_lightning.experiments.executors.worker import SECONDS_TO_STOP

        with contextlib.suppress(EOFError, OSError):
            while True:
                self._tasks.put(pickle.load(self._inbox))
        self._tasks.put(None)
        # A job that trains and got SIGTERM already has set the signal back to its default, which would end it at once.
        if self._is_busy and signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(SECONDS_TO_STOP)
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

    def _let_go(self) -> None:
        """In a forked process, such as one that loads data: do not keep the pipes open when this one dies."""
        with open(os.devnull, "r+b", buffering=0) as nothing:
            for stream in (self._inbox, self._outbox):
                os.dup2(nothing.fileno(), stream.fileno(), inheritable=False)


class _Observer:
    """Sends the progress of a training on: every new value, and the position a few times per second."""

    def __init__(self, send: object) -> None:
        assert callable(send)
        self._send = send
        self._last: Progress | None = None
        self._time = 0.0

    def __call__(self, progress: Progress) -> None:
        last = self._last
        is_new = last is None or (last.epoch, last.value) != (progress.epoch, progress.value)
        if is_new or progress.fraction >= 1.0 or time.monotonic() - self._time >= _SECONDS_BETWEEN_REPORTS:
            self._last, self._time = progress, time.monotonic()
            self._send(progress)


def _be_another_rank(arguments: Sequence[str]) -> None:
    """Take part in a distributed job, and end when its first process does: a collective might wait forever."""
    first = os.getppid()

    def watch() -> None:
        while os.getppid() == first:
            time.sleep(1.0)
        os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

    threading.Thread(target=watch, daemon=True).start()
    from pauc_lightning.cli import main as pauc

    pauc(arguments)


if __name__ == "__main__":
    main()
