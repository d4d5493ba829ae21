"""Where the trainings of a matrix or a search run: this process, several local processes, or a cluster.

- The contract: ``base``; ``factory`` makes an executor from its name.
- The executors: ``in_process``, ``local_processes``, ``ray_executor``, ``slurm_executor``. All but the first are a
  ``pool`` of workers.
- A worker: ``worker`` starts a process that runs jobs and listens to it, ``serve`` is that process, ``messages`` is
  what they tell each other.
- A job: ``run_job`` runs it; ``devices`` finds out whether it trains on several processes, and ``subprocess_job`` gives
  it a process of its own then; ``threads`` limits its threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pauc_lightning.lazy import lazy_names

if TYPE_CHECKING:
    from pauc_lightning.experiments.executors.base import (
        Ended,
        Executor,
        Failure,
        Job,
        JobsStopped,
        OnProgress,
    )
    from pauc_lightning.experiments.executors.factory import KINDS, executor_for
    from pauc_lightning.experiments.executors.in_process import InProcess
    from pauc_lightning.experiments.executors.local_processes import LocalProcesses
    from pauc_lightning.experiments.executors.ray_executor import RayExecutor
    from pauc_lightning.experiments.executors.slurm_executor import SlurmExecutor

__all__ = [
    "KINDS",
    "Ended",
    "Executor",
    "Failure",
    "InProcess",
    "Job",
    "JobsStopped",
    "LocalProcesses",
    "OnProgress",
    "RayExecutor",
    "SlurmExecutor",
    "executor_for",
]

# A worker process imports this package before it can do anything else, and a help page before it prints.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "base": ("Ended", "Executor", "Failure", "Job", "JobsStopped", "OnProgress"),
        "factory": ("KINDS", "executor_for"),
        "in_process": ("InProcess",),
        "local_processes": ("LocalProcesses",),
        "ray_executor": ("RayExecutor",),
        "slurm_executor": ("SlurmExecutor",),
    },
)
