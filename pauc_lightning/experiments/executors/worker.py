"""A process that runs jobs, seen from the process that started it."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from queue import SimpleQueue
from typing import Any

from pauc_lightning.experiments.executors.base import Job
from pauc_lightning.experiments.executors.messages import Died, Event, Task

SERVE = "pauc_lightning.experiments.executors.serve"
SECONDS_TO_STOP = 60.0
"""Seconds that a job has to save its state and end after it was told to stop."""
_SECONDS_TO_LEAVE = 10.0
_LONGEST_TEXT = 20_000  # bytes


class Worker:
    """A process that runs one job after another; it imports Lightning once.

    The process ends when its standard input is closed, so it cannot survive the one that started it. It ignores Ctrl-C,
    which a terminal sends to all processes at once: the process that started it decides.

    Args:
        events: Where ``(worker, event)`` is put when the process reports something, and when it has died.
        environment: Variables that the process gets in addition to those of this one.
        directory: The directory in which it works; None for this process's.
    """

    def __init__(
        self,
        events: SimpleQueue[tuple[Any, Event]],
        environment: Mapping[str, str] | None = None,
        directory: str | None = None,
    ) -> None:
        self._events = events
        self._text = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the process lives
        self._process = subprocess.Popen(
            [sys.executable, "-m", SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._text,
            env={**_environment(), **(environment or {})},
            cwd=directory,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def can_run(self, job: Job) -> bool:
        """Whether the process is alive: any job fits."""
        return self._process.poll() is None

    def run(self, job: Job, is_alone: bool = False) -> None:
        """Start a job; if the process is dead, the event that says so follows."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            pickle.dump(Task(job, is_alone), self._process.stdin)
            self._process.stdin.flush()

    def stop(self) -> None:
        """Stop the job as SIGTERM stops ``pauc fit``: after the current batch, with its state saved."""
        self._process.terminate()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self.close()

    def dismiss(self) -> None:
        """Let the process end, without waiting for it."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def close(self) -> None:
        """Wait until the process has ended, and end it if that takes long."""
        self.dismiss()
        try:
            self._process.wait(_SECONDS_TO_LEAVE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(_SECONDS_TO_LEAVE)

    def _listen(self) -> None:
        """Pass on what the process says, until it dies: in a thread, because not every system can wait for pipes."""
        assert self._process.stdout is not None
        with self._process.stdout as stream, contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                self._events.put((self, pickle.load(stream)))
        status = self._process.wait()
        self._events.put((self, Died.with_status(status, self._last_text())))

    def _last_text(self) -> str:
        with self._text as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LONGEST_TEXT))
            return file.read().decode(errors="replace")


def _environment() -> dict[str, str]:
    """This process's variables, for a process that imports the same modules and is no part of a Slurm job's tasks."""
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(os.path.abspath(folder) for folder in sys.path),
    }
    if "SLURM_NTASKS" in variables:
        variables["SLURM_JOB_NAME"] = "interactive"  # Lightning's sign that Slurm starts no further processes
    return variables
