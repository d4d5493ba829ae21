"""When to draw, what to write."""

from pauc_lightning.callbacks.figures import EvaluationFigures
from pauc_lightning.callbacks.predictions import PredictionWriter

__all__ = ["EvaluationFigures", "PredictionWriter"]
