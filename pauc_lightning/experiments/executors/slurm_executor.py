"""Runs jobs on a Slurm cluster, each as a Slurm job of its own, submitted with submitit."""

from __future__ import annotations

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType
from typing import Any, Literal

from pauc_lightning.arguments import check_integer
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.executors.base import Job
from pauc_lightning.experiments.executors.messages import Died, Event, Outcome, Refused, Stopped
from pauc_lightning.experiments.executors.pool import Events, PoolWorker, WorkerPool
from pauc_lightning.experiments.executors.settings import run_directory
from pauc_lightning.experiments.executors.worker import Worker
from pauc_lightning.experiments.inner_run import Said
from pauc_lightning.experiments.live import Progress

_SECONDS_BETWEEN_LOOKS = 1.0


class SlurmExecutor(WorkerPool):
    """Submits jobs to Slurm; the command that waits for them may run on the login node.

    Slurm's own variables choose what is not an argument, for example ``SBATCH_PARTITION`` and ``SBATCH_ACCOUNT``. The
    files that Slurm and submitit write are in ``slurm/`` in the directory of the runs, which all nodes must share.

    Args:
        n: Number of jobs that are submitted at the same time.
        gpus_per_job: GPUs that a job occupies.
        timeout_min: Minutes after which Slurm stops a job.
        cluster: ``slurm``, or ``local`` to try the same on this machine without Slurm.
    """

    def __init__(
        self,
        n: int,
        gpus_per_job: int = 0,
        timeout_min: int = 24 * 60,
        cluster: Literal["slurm", "local"] = "slurm",
    ) -> None:
        super().__init__(n)
        check_integer("gpus_per_job", gpus_per_job, at_least=0)
        check_integer("timeout_min", timeout_min, at_least=1)
        self._submitit = _import_submitit()
        if cluster == "slurm" and not self._submitit.SlurmExecutor.affinity() > 0:
            raise InputError(
                "The executor 'slurm' needs Slurm's command `srun`, which this machine does not have: start the "
                "command on a node of the cluster."
            )
        self._cluster = cluster
        self._parameters = {"gpus_per_node": gpus_per_job, "timeout_min": timeout_min}

    def _new_worker(self, events: Events, job: Job) -> SlurmWorker:
        folder = run_directory(job.arguments) / "slurm"
        folder.mkdir(parents=True, exist_ok=True)
        executor = self._submitit.AutoExecutor(folder=folder / "%j", cluster=self._cluster)
        executor.update_parameters(name="pauc", cpus_per_task=job.threads, **self._parameters)
        return SlurmWorker(self._submitit, executor, folder, events)

    def _is_kept(self, worker: PoolWorker) -> bool:
        """Never: a Slurm job runs one of ours."""
        return False


class SlurmWorker:
    """A Slurm job, seen from here.

    Args:
        submitit: The package.
        executor: submitit's executor.
        folder: A directory that all nodes share.
        events: Where its events are put.
    """

    def __init__(self, submitit: ModuleType, executor: Any, folder: Path, events: Events) -> None:
        self._submitit = submitit
        self._executor = executor
        self._progress = folder / f"{uuid.uuid4().hex}.jsonl"
        self._events = events
        self._job: Any = None
        self._lines_read = 0

    def can_run(self, job: Job) -> bool:
        """Never a second job."""
        return False

    def run(self, job: Job) -> None:
        """Submit a job."""
        try:
            self._job = self._executor.submit(run_on_node, job, str(self._progress))
        except (self._submitit.core.utils.FailedJobError, OSError) as error:
            reason = str(error).strip().partition("\n")[0].rstrip(".")
            self._events.put((self, Refused(f"Slurm does not take the job ({reason}): see `man sbatch`.")))
            return
        threading.Thread(target=self._follow, daemon=True).start()

    def stop(self) -> None:
        """Cancel the job; Slurm sends it SIGTERM, and it saves its state."""
        if self._job is not None:
            self._job.cancel(check=False)

    def kill(self) -> None:
        """Cancel the job, if it has not ended."""
        if self._job is not None and not self._job.done():
            self.stop()

    def dismiss(self) -> None:
        """Nothing is left to end."""

    def close(self) -> None:
        """Nothing is left to end."""

    def _follow(self) -> None:
        """Look again and again, as files are all that a node shares with this machine."""
        while not self._job.done():
            self._report()
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        self._report()
        utils = self._submitit.core.utils
        try:
            outcome: Outcome = self._job.result()
        except (utils.UncompletedJobError, utils.FailedJobError) as error:
            outcome = Died(f"its Slurm job {self._job.job_id} ended as {self._job.state}", Said(f"{error}\n"))
        self._progress.unlink(missing_ok=True)
        self._events.put((self, outcome))

    def _report(self) -> None:
        """Pass on the progress that has come since the last look."""
        for progress in self._new_progress():
            self._events.put((self, progress))

    def _new_progress(self) -> Iterator[Progress]:
        with contextlib.suppress(FileNotFoundError):
            complete = self._progress.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
            new = complete[self._lines_read :]
            self._lines_read = len(complete)
            yield from (Progress(**json.loads(line)) for line in new)


def run_on_node(job: Job, progress_file: str) -> Outcome:
    """Run a job in a process of its own, on the node that Slurm chose.

    Args:
        job: The job.
        progress_file: Where its progress is appended, a line each time.
    """
    events: SimpleQueue[tuple[Worker, Event]] = SimpleQueue()
    worker = Worker(events)
    try:
        worker.run(job)
        with open(progress_file, "a", encoding="utf-8") as file:
            while True:
                _, event = events.get()
                if not isinstance(event, Progress):
                    return event
                file.write(json.dumps(asdict(event)) + "\n")
                file.flush()
    except KeyboardInterrupt:  # how submitit's local cluster cancels
        return Stopped(Said(""))
    finally:
        worker.close()


def _import_submitit() -> ModuleType:
    try:
        import submitit
    except ImportError:
        raise InputError(
            "The executor 'slurm' needs the package submitit: pip install 'pauc-lightning[slurm]'."
        ) from None
    return submitit
