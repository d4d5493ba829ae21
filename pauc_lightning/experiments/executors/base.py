"""The contract of the executors: jobs go in, their progress and their ends come out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType

from pauc_lightning.experiments.inner_run import RunStopped, Said
from pauc_lightning.experiments.live import Progress


@dataclass(frozen=True)
class Job:
    """One ``pauc`` command to be run; its results are the files that it writes.

    Args:
        name: Tells the jobs of an executor apart.
        arguments: The arguments of ``pauc``, such as ``("fit", "-c", "digits", ...)``.
        threads: Threads that the job may use. The number is the job's and not the executor's, because sums over
            another number of threads differ in their last bits.
        is_distributed: Whether the job trains on several processes (``--trainer.devices=2``), which need a process of
            their own to start from. Jobs whose arguments say so are recognised without it.
    """

    name: str
    arguments: tuple[str, ...]
    threads: int = 1
    is_distributed: bool = False


@dataclass(frozen=True)
class Failure:
    """Why a job has no result.

    Args:
        reason: A sentence.
        is_mistake: Whether the command rejected its arguments.
    """

    reason: str
    is_mistake: bool = False


@dataclass(frozen=True)
class Ended:
    """A job that has ended.

    Args:
        job: The job.
        said: What it printed, with its warnings.
        failure: Why it failed; None if it succeeded.
    """

    job: Job
    said: Said
    failure: Failure | None = None


class JobsStopped(RunStopped):
    """Raised when the user interrupts; the running jobs have been stopped.

    A training that was stopped has saved its state as after Ctrl-C in ``pauc fit``.

    Args:
        ended: The jobs that were stopped, with a failure, and those that had ended before and were not returned yet.
    """

    def __init__(self, ended: Sequence[Ended]) -> None:
        super().__init__(ended[0].said if ended else Said(""))
        self.ended = tuple(ended)


OnProgress = Callable[[Job, Progress], None]


class Executor(ABC):
    """Runs jobs; a context manager that ends its workers on leaving.

    A caller starts at most :attr:`slots` jobs, waits until some have ended, and starts others in their place. The
    results of a job do not depend on the executor: a job uses :attr:`Job.threads` threads and one device, unless its
    arguments name more, and a job whose process dies is run again.
    """

    @property
    @abstractmethod
    def slots(self) -> int:
        """Number of jobs that run at the same time."""

    @abstractmethod
    def start(self, job: Job) -> None:
        """Start a job, or keep it for the next :meth:`wait`."""

    @abstractmethod
    def wait(self, on_progress: OnProgress) -> Sequence[Ended]:
        """Wait until at least one of the started jobs has ended, and return all that have.

        Args:
            on_progress: Called in this thread with the progress of the running jobs.

        Raises:
            JobsStopped: If the user interrupts; it is a KeyboardInterrupt.
        """

    def __enter__(self) -> Executor:
        """Start the workers, if there are any."""
        return self

    def __exit__(  # noqa: B027  # most executors have nothing to stop
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the workers and their jobs."""
