"""Lightning callbacks.

- A run's state: ``checkpoint`` with ``position``, ``start_validation``, ``preprocessing``, ``own_code``,
  ``interruption`` (Ctrl-C and SIGTERM).
- Its progress: ``progress`` (the live line), ``collapse`` (warnings).
- Its results: ``figures`` and ``histograms`` with ``evaluation_scores`` and ``boards``, ``score_files``,
  ``decision_thresholds``, ``calibration``, ``predictions``.
"""

from pauc_lightning.callbacks.calibration import CalibrationKeeper
from pauc_lightning.callbacks.checkpoint import RunCheckpoint
from pauc_lightning.callbacks.collapse import CollapseMonitor
from pauc_lightning.callbacks.decision_thresholds import DecisionThresholds
from pauc_lightning.callbacks.figures import EvaluationFigures
from pauc_lightning.callbacks.histograms import ScoreHistograms
from pauc_lightning.callbacks.interruption import GracefulStop, RunInterrupted
from pauc_lightning.callbacks.own_code import OwnCodeKeeper
from pauc_lightning.callbacks.predictions import PredictionWriter
from pauc_lightning.callbacks.preprocessing import PreprocessingKeeper
from pauc_lightning.callbacks.score_files import ScoreFiles
from pauc_lightning.callbacks.start_validation import StartValidation

__all__ = [
    "CalibrationKeeper",
    "CollapseMonitor",
    "DecisionThresholds",
    "EvaluationFigures",
    "GracefulStop",
    "OwnCodeKeeper",
    "PredictionWriter",
    "PreprocessingKeeper",
    "RunCheckpoint",
    "RunInterrupted",
    "ScoreFiles",
    "ScoreHistograms",
    "StartValidation",
]
