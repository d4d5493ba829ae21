"""The contract of the executors: jobs go in, their progress and their ends come out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType

from pauc_lightning.experiments.inner_run import Said
from pauc_lightning.experiments.live import Progress


@dataclass(frozen=True)
class Job:
    """One ``pauc`` command to be run; its results are the files that it writes.

    Args:
        name: Tells the jobs of an executor apart.
        arguments: The arguments of ``pauc``, such as ``("fit", "-c", "digits", ...)``.
        threads: Threads that the job may use. The number is the job's and not the executor's, because sums over
            another number of threads differ in their last bits.
    """

    name: str
    arguments: tuple[str, ...]
    threads: int = 1


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


OnProgress = Callable[[Job, Progress], None]


class Executor(ABC):
    """Runs jobs; a context manager that ends its workers on leaving.

    A caller starts at most :attr:`slots` jobs, waits until some have ended, and starts others in their place. The
    results of a job do not depend on the executor.
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
            KeyboardInterrupt: If the user interrupts; running jobs have been stopped then.
        """

    def __enter__(self) -> Executor:
        """Start the workers, if there are any."""
        return self

    def __exit__(  # noqa: B027  # most executors have nothing to stop
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the workers and their jobs."""
