"""When to draw, what to write, what to keep."""

from pauc_lightning.callbacks.checkpoint import RunCheckpoint
from pauc_lightning.callbacks.figures import EvaluationFigures
from pauc_lightning.callbacks.predictions import PredictionWriter

__all__ = ["EvaluationFigures", "PredictionWriter", "RunCheckpoint"]
