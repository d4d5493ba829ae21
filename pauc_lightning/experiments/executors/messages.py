"""What a worker process and the process that started it tell each other."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import TypeAlias

from pauc_lightning.experiments.executors.base import Failure, Job
from pauc_lightning.experiments.inner_run import Said
from pauc_lightning.experiments.live import Progress


@dataclass(frozen=True)
class Task:
    """A job for a worker process.

    Args:
        job: The job.
        is_alone: Whether the process runs this job only, so that the job may start others from its command line.
    """

    job: Job
    is_alone: bool = False


@dataclass(frozen=True)
class Done:
    """The job has ended by itself.

    Args:
        said: What it printed.
        failure: Why it failed, if it did.
    """

    said: Said
    failure: Failure | None = None


@dataclass(frozen=True)
class Stopped:
    """The job has been interrupted.

    Args:
        said: What it printed.
    """

    said: Said


@dataclass(frozen=True)
class Died:
    """The worker is no more.

    Args:
        reason: A clause: what happened to "its process".
        said: The end of what it wrote past Python, for example by a library that aborted.
    """

    reason: str
    said: Said

    @classmethod
    def with_status(cls, status: int, text: str) -> Died:
        """A process that ended with this status; negative ones are signals.

        Example:
            >>> Died.with_status(-11, "").reason
            'its process was killed by SIGSEGV'
        """
        if status >= 0:
            reason = f"its process ended with status {status}"
        else:
            reason = f"its process was killed by {_name(-status)}"
        if status == -getattr(signal, "SIGKILL", 9):
            reason += " (if the memory was used up: run fewer jobs at once, or lower `data.batch_size`)"
        return cls(reason, Said(text))


Outcome: TypeAlias = Done | Stopped | Died
Event: TypeAlias = Progress | Outcome


def _name(signum: int) -> str:
    try:
        return signal.Signals(signum).name
    except ValueError:  # a real-time signal
        return f"signal {signum}"
