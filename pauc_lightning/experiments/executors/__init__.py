"""Where the trainings of a matrix or a search run: this process, several local processes, or a cluster."""

from pauc_lightning.experiments.executors.base import Ended, Executor, Failure, Job
from pauc_lightning.experiments.executors.in_process import InProcess

__all__ = ["Ended", "Executor", "Failure", "InProcess", "Job"]
