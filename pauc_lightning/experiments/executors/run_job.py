"""Runs a job, whatever the executor."""

from __future__ import annotations

from dataclasses import replace

from pauc_lightning.experiments.executors.base import Ended, Failure, Job
from pauc_lightning.experiments.executors.devices import is_distributed, with_one_device
from pauc_lightning.experiments.executors.subprocess_job import run_in_own_process
from pauc_lightning.experiments.executors.threads import threads
from pauc_lightning.experiments.inner_run import InnerRuns, RunFailed
from pauc_lightning.experiments.live import Observer, observed_by


def run_job(job: Job, inner_runs: InnerRuns, observer: Observer) -> Ended:
    """Run a job in this process, or in a process of its own if it trains on several.

    Args:
        job: The job.
        inner_runs: Runs commands in this process.
        observer: Called with the progress of the training.

    Raises:
        RunStopped: If the job was interrupted.
    """
    arguments = tuple(with_one_device(job.arguments))
    if job.is_distributed or is_distributed(arguments):
        ended = run_in_own_process(replace(job, arguments=arguments), observer)
    else:
        ended = run_here(replace(job, arguments=arguments), inner_runs, observer)
    return replace(ended, job=job)


def run_here(job: Job, inner_runs: InnerRuns, observer: Observer) -> Ended:
    """Run a job in this process."""
    with observed_by(observer), threads(job.threads):
        try:
            return Ended(job, inner_runs(job.arguments))
        except RunFailed as failed:
            return Ended(job, failed.said, Failure(failed.reason, failed.is_mistake))
