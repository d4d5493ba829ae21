"""When to draw, what to write, when to warn."""

from pauc_lightning.callbacks.collapse import CollapseWarning
from pauc_lightning.callbacks.figures import EvaluationFigures
from pauc_lightning.callbacks.predictions import PredictionWriter

__all__ = ["CollapseWarning", "EvaluationFigures", "PredictionWriter"]
