"""Runs jobs on several workers, wherever those are."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Protocol

from pauc_lightning.arguments import check_integer
from pauc_lightning.experiments.executors.base import (
    Ended,
    Executor,
    Failure,
    Job,
    JobsStopped,
    OnProgress,
)
from pauc_lightning.experiments.executors.messages import Died, Done, Event, Outcome
from pauc_lightning.experiments.executors.worker import SECONDS_TO_STOP
from pauc_lightning.experiments.inner_run import Said
from pauc_lightning.experiments.live import Progress

_ATTEMPTS = 2


class PoolWorker(Protocol):
    """Runs one job at a time and reports events to the queue that it was made with."""

    def can_run(self, job: Job) -> bool:
        """Whether the idle worker lives and fits the job."""

    def run(self, job: Job) -> None:
        """Start a job."""

    def stop(self) -> None:
        """Ask the job to save its state and stop."""

    def kill(self) -> None:
        """End the worker at once; harmless if it is dead."""

    def dismiss(self) -> None:
        """Let the idle worker end, without waiting for it."""

    def close(self) -> None:
        """Wait until the idle worker has ended."""


Events = SimpleQueue[tuple[Any, Event]]


@dataclass(frozen=True)
class _Attempt:
    """A job that is run, perhaps again.

    Args:
        job: The job.
        number: 1, 2, ...
        mishaps: What ended the earlier attempts, as sentences.
    """

    job: Job
    number: int = 1
    mishaps: tuple[str, ...] = ()


class WorkerPool(Executor):
    """Runs jobs on workers that are made when they are needed, and replaced when they die.

    A job whose worker dies is run once more. A subclass makes the workers.

    Args:
        n: Number of jobs that run at the same time.
    """

    def __init__(self, n: int) -> None:
        check_integer("processes", n, at_least=1)
        self._slots = n
        self._events: Events = SimpleQueue()
        self._idle: list[PoolWorker] = []
        self._running: dict[PoolWorker, _Attempt] = {}
        self._waiting: deque[_Attempt] = deque()

    @abstractmethod
    def _new_worker(self, events: Events, job: Job) -> PoolWorker:
        """Make a worker for a job."""

    @property
    def slots(self) -> int:
        """Number of workers."""
        return self._slots

    def start(self, job: Job) -> None:
        """Give the job to an idle worker, or to a new one; beyond :attr:`slots` it has to wait."""
        self._waiting.append(_Attempt(job))
        self._assign()

    def wait(self, on_progress: OnProgress) -> Sequence[Ended]:
        """Wait until at least one job has ended."""
        if not self._running:
            raise RuntimeError("There is no job to wait for.")
        ended: list[Ended] = []
        try:
            while not ended or not self._events.empty():
                worker, event = self._events.get()
                if isinstance(event, Progress):
                    if worker in self._running:
                        on_progress(self._running[worker].job, event)
                else:
                    ended += self._take(worker, event)
                    self._assign()
        except KeyboardInterrupt:
            raise JobsStopped([*ended, *self._stop_all()]) from None
        return ended

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the jobs that are running, and end the workers."""
        self._stop_all()
        for worker in self._idle:
            worker.dismiss()
        while self._idle:
            self._idle.pop().close()

    # ------------------------------------------------------------------ jobs and workers

    def _assign(self) -> None:
        """Start jobs that wait, as far as there is room."""
        while self._waiting and len(self._running) < self._slots:
            attempt = self._waiting.popleft()
            worker = self._worker_for(attempt.job)
            self._running[worker] = attempt
            worker.run(attempt.job)

    def _worker_for(self, job: Job) -> PoolWorker:
        fitting = next((worker for worker in self._idle if worker.can_run(job)), None)
        if fitting is not None:
            self._idle.remove(fitting)
            return fitting
        if len(self._running) + len(self._idle) >= self._slots:
            self._idle.pop().kill()  # it is dead, or other jobs were its kind
        return self._new_worker(self._events, job)

    def _take(self, worker: PoolWorker, outcome: Outcome) -> Iterator[Ended]:
        """The end of the worker's job, unless it is tried again."""
        attempt = self._running.pop(worker, None)
        if not isinstance(outcome, Died):
            self._idle.append(worker)
        else:
            worker.kill()  # what may be left of it
            if worker in self._idle:
                self._idle.remove(worker)
        if attempt is None:
            return
        if isinstance(outcome, Done):
            yield Ended(attempt.job, _with_mishaps(outcome.said, attempt), outcome.failure)
            return
        reason = outcome.reason if isinstance(outcome, Died) else "it was stopped by a signal"
        if attempt.number < _ATTEMPTS:
            mishap = f"The job was run again, because {reason}."
            self._waiting.appendleft(
                replace(attempt, number=attempt.number + 1, mishaps=(*attempt.mishaps, mishap))
            )
            return
        failure = Failure(f"It was tried {attempt.number} times, but {reason}.")
        yield Ended(attempt.job, _with_mishaps(outcome.said, attempt), failure)

    def _stop_all(self) -> list[Ended]:
        """Stop the running jobs and wait for them; a second Ctrl-C, or a long wait, kills their workers."""
        ended: list[Ended] = []
        self._waiting.clear()
        try:
            for worker in self._running:
                worker.stop()
            deadline = time.monotonic() + SECONDS_TO_STOP
            while self._running:
                worker, event = self._events.get(timeout=max(0.0, deadline - time.monotonic()))
                if not isinstance(event, Progress) and worker in self._running:
                    ended.append(self._stopped(worker, event))
        except (Empty, KeyboardInterrupt):
            for worker in list(self._running):
                worker.kill()
                ended.append(Ended(self._running.pop(worker).job, Said(""), Failure("It was stopped.")))
        return ended

    def _stopped(self, worker: PoolWorker, outcome: Outcome) -> Ended:
        job = self._running.pop(worker).job
        if isinstance(outcome, Died):
            worker.kill()
        else:
            self._idle.append(worker)
        if isinstance(outcome, Done):  # it ended before the signal came
            return Ended(job, outcome.said, outcome.failure)
        return Ended(job, outcome.said, Failure("It was stopped."))


def _with_mishaps(said: Said, attempt: _Attempt) -> Said:
    """What the last attempt printed, after what ended the earlier ones."""
    lines = "".join(f"{mishap}\n" for mishap in attempt.mishaps)
    return Said(lines + said.text, (*attempt.mishaps, *said.warnings))
