"""Losses of scores and labels, in plain torch: no Lightning, no input or output."""

from pauc_lightning.objectives.minimax import MinimaxObjective
from pauc_lightning.objectives.pauci import PAUCI
from pauc_lightning.objectives.upauci import UPAUCI

__all__ = ["PAUCI", "UPAUCI", "MinimaxObjective"]
