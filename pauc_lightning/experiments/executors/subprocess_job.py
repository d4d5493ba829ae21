"""Runs a job in a process of its own: Lightning starts the processes of a distributed job from its command line."""

from __future__ import annotations

import os
import time
from queue import Empty, SimpleQueue

from pauc_lightning.callbacks import RunInterrupted
from pauc_lightning.experiments.executors.base import Ended, Failure, Job
from pauc_lightning.experiments.executors.messages import Died, Done, Event, Outcome, Stopped
from pauc_lightning.experiments.executors.worker import SECONDS_TO_STOP, Worker
from pauc_lightning.experiments.inner_run import RunStopped, Said
from pauc_lightning.experiments.live import Observer, Progress

ALL_GPUS = "PAUC_ALL_CUDA_VISIBLE_DEVICES"
"""The value of CUDA_VISIBLE_DEVICES before an executor gave a worker one of the GPUs; jobs on several need them all."""


def run_in_own_process(job: Job, observer: Observer) -> Ended:
    """Run a job in a process of its own; if the process dies, once more.

    Args:
        job: The job.
        observer: Called with the progress of the training.

    Raises:
        RunStopped: If the job was interrupted; it has been stopped and its state saved.
    """
    outcome = _run(job, observer)
    if isinstance(outcome, Died):
        outcome = _run(job, observer)
    if isinstance(outcome, Stopped):
        raise RunStopped(outcome.said)
    if isinstance(outcome, Died):
        return Ended(job, outcome.said, Failure(f"It was tried twice, but {outcome.reason}."))
    return Ended(job, outcome.said, outcome.failure)


def _run(job: Job, observer: Observer) -> Outcome:
    events: SimpleQueue[tuple[Worker, Event]] = SimpleQueue()
    all_gpus = os.environ.get(ALL_GPUS)
    worker = Worker(events, {} if all_gpus is None else {"CUDA_VISIBLE_DEVICES": all_gpus})
    try:
        worker.run(job, is_alone=True)
        while True:
            _, event = events.get()
            if not isinstance(event, Progress):
                return event
            observer(event)
    except (KeyboardInterrupt, RunInterrupted) as error:  # the second is SIGTERM in a worker
        worker.stop()
        raise RunStopped(_last_words(events)) from error
    finally:
        worker.close()


def _last_words(events: SimpleQueue[tuple[Worker, Event]]) -> Said:
    """What the job had printed when it stopped."""
    deadline = time.monotonic() + SECONDS_TO_STOP
    while True:
        try:
            _, event = events.get(timeout=max(0.0, deadline - time.monotonic()))
        except (Empty, KeyboardInterrupt):
            return Said("")
        if isinstance(event, (Done, Stopped, Died)):
            return event.said
