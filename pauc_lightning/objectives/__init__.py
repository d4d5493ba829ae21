"""Losses of scores and labels, in plain torch: no Lightning, no input or output."""

from pauc_lightning.objectives.agd_sbcd import AGDSBCDObjective
from pauc_lightning.objectives.auc_exp import AUCExp
from pauc_lightning.objectives.auc_m import AUCM
from pauc_lightning.objectives.auc_poly import AUCPoly
from pauc_lightning.objectives.minibatch import MiniBatch
from pauc_lightning.objectives.minimax import MinimaxObjective
from pauc_lightning.objectives.pauci import PAUCI
from pauc_lightning.objectives.sopa import SOPA
from pauc_lightning.objectives.sopa_s import SOPAS
from pauc_lightning.objectives.upauci import UPAUCI

__all__ = [
    "AUCM",
    "PAUCI",
    "SOPA",
    "SOPAS",
    "UPAUCI",
    "AGDSBCDObjective",
    "AUCExp",
    "AUCPoly",
    "MiniBatch",
    "MinimaxObjective",
]
