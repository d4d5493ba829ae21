"""The methods as LightningModules, each in a file of its own.

- Base classes: ``evaluation``, ``base``; ``minimax`` for PAUCI and UPAUCI, ``auc_weighted`` for AUC-poly and AUC-exp.
- A training step: ``stepping``, ``nonfinite``, ``schedule``, ``length``, ``optimizers``, ``step_gauge``.
- The start: ``initial_weights``, ``closed_form_start`` with ``progress`` and ``ranking``,
  ``temperature``, ``defaults``.
"""

from pauc_lightning.methods.agd_sbcd import AGDSBCD
from pauc_lightning.methods.auc_exp import AUCExp
from pauc_lightning.methods.auc_m import AUCM
from pauc_lightning.methods.auc_poly import AUCPoly
from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.ce import CE
from pauc_lightning.methods.hard_ce import HardCE
from pauc_lightning.methods.mb import MB
from pauc_lightning.methods.partial_auc import PartialAUC
from pauc_lightning.methods.pauci import PAUCI
from pauc_lightning.methods.sopa import SOPA
from pauc_lightning.methods.sopa_s import SOPAS
from pauc_lightning.methods.upauci import UPAUCI

__all__ = [
    "AGDSBCD",
    "AUCM",
    "CE",
    "MB",
    "PAUCI",
    "SOPA",
    "SOPAS",
    "UPAUCI",
    "AUCExp",
    "AUCPoly",
    "HardCE",
    "PartialAUC",
    "PartialAUCModule",
]
