"""Runs jobs in several processes of this machine."""

from __future__ import annotations

import os
from itertools import count

import torch

from pauc_lightning.experiments.executors.base import Job
from pauc_lightning.experiments.executors.pool import Events, WorkerPool
from pauc_lightning.experiments.executors.subprocess_job import ALL_GPUS
from pauc_lightning.experiments.executors.worker import Worker


class LocalProcesses(WorkerPool):
    """Runs jobs in up to ``n`` processes at the same time; each imports Lightning once and runs many jobs.

    On a machine with several GPUs each process uses one of them, in turn.

    Args:
        n: Number of processes.
    """

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self._numbers = count()

    def _new_worker(self, events: Events, job: Job) -> Worker:
        return Worker(events, one_gpu(next(self._numbers)))


def one_gpu(number: int, gpus: int | None = None) -> dict[str, str]:
    """The variables that give a process one of this machine's GPUs, in turn; empty if there are fewer than two.

    Args:
        number: The number of the process, from 0.
        gpus: GPUs that this process may use; None counts them.

    Example:
        >>> one_gpu(5, gpus=4)["CUDA_VISIBLE_DEVICES"]
        '1'
    """
    gpus = torch.cuda.device_count() if gpus is None else gpus
    if gpus < 2:
        return {}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(gpus)))
    return {"CUDA_VISIBLE_DEVICES": visible.split(",")[number % gpus].strip(), ALL_GPUS: visible}
