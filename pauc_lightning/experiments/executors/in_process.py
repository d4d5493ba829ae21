"""Runs jobs in this process, one after another."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence

import torch

from pauc_lightning.experiments.executors.base import Ended, Executor, Failure, Job, OnProgress
from pauc_lightning.experiments.inner_run import InnerRuns, RunFailed, RunPauc
from pauc_lightning.experiments.live import observed_by


class InProcess(Executor):
    """Runs each job in this process when it is waited for.

    Args:
        run_pauc: The ``pauc`` command, called with its arguments.
    """

    def __init__(self, run_pauc: RunPauc) -> None:
        self._run = InnerRuns(run_pauc)
        self._started: deque[Job] = deque()

    @property
    def slots(self) -> int:
        """One job at a time."""
        return 1

    def start(self, job: Job) -> None:
        """Keep the job for the next :meth:`wait`."""
        self._started.append(job)

    def wait(self, on_progress: OnProgress) -> Sequence[Ended]:
        """Run the next job."""
        job = self._started.popleft()
        with observed_by(lambda progress: on_progress(job, progress)), threads(job.threads):
            return [run(self._run, job)]


def run(inner_runs: InnerRuns, job: Job) -> Ended:
    """Run a job in this process; an interruption is raised."""
    try:
        return Ended(job, inner_runs(job.arguments))
    except RunFailed as failed:
        return Ended(job, failed.said, Failure(failed.reason, failed.is_mistake))


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Within the block, let torch compute with this number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
