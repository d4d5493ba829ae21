"""When to draw, what to write, what to keep, when to stop."""

from pauc_lightning.callbacks.checkpoint import RunCheckpoint
from pauc_lightning.callbacks.figures import EvaluationFigures
from pauc_lightning.callbacks.interruption import GracefulStop, RunInterrupted
from pauc_lightning.callbacks.predictions import PredictionWriter

__all__ = ["EvaluationFigures", "GracefulStop", "PredictionWriter", "RunCheckpoint", "RunInterrupted"]
