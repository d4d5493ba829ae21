"""Runs jobs in this process, one after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pauc_lightning.experiments.executors.base import Ended, Executor, Failure, Job, JobsStopped, OnProgress
from pauc_lightning.experiments.executors.run_job import run_job
from pauc_lightning.experiments.inner_run import InnerRuns, RunPauc, RunStopped


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
        if not self._started:
            raise RuntimeError("There is no job to wait for.")
        job = self._started.popleft()
        try:
            return [run_job(job, self._run, lambda progress: on_progress(job, progress))]
        except RunStopped as stopped:
            raise JobsStopped([Ended(job, stopped.said, Failure("It was stopped."))]) from stopped
