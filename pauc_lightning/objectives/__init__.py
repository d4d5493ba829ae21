"""Losses of scores and labels in plain torch: no Lightning, no input or output.

- The contract: ``base`` and the checks of a batch in ``checks``.
- Sums over samples: ``ce``, ``auc_m``, and ``pauci`` and ``upauci`` with their equations in ``minimax`` and the fused
  gradient in ``minimax_fused``.
- Means over pairs, with ``pairwise`` and ``surrogate``: ``mb``, ``sopa``, ``sopa_s``, ``agd_sbcd`` with
  ``inner_loops``, and ``auc_poly`` and ``auc_exp`` with ``auc_weighted``.
- Means over the region that tracked thresholds select, with ``selected``, ``selection`` and ``threshold``:
  ``partial_auc`` with ``pair_sums``, and ``hard_ce``.
- Which samples of a batch lie in the region: ``region_members``.
"""

from pauc_lightning.objectives.agd_sbcd import AGDSBCDLoss
from pauc_lightning.objectives.auc_exp import AUCExpLoss
from pauc_lightning.objectives.auc_m import AUCMLoss
from pauc_lightning.objectives.auc_poly import AUCPolyLoss
from pauc_lightning.objectives.base import Objective
from pauc_lightning.objectives.ce import CELoss
from pauc_lightning.objectives.hard_ce import HardCELoss
from pauc_lightning.objectives.mb import MBLoss
from pauc_lightning.objectives.minimax import MinimaxObjective
from pauc_lightning.objectives.partial_auc import PartialAUCLoss
from pauc_lightning.objectives.pauci import PAUCILoss
from pauc_lightning.objectives.sopa import SOPALoss
from pauc_lightning.objectives.sopa_s import SOPASLoss
from pauc_lightning.objectives.upauci import UPAUCILoss

__all__ = [
    "AGDSBCDLoss",
    "AUCExpLoss",
    "AUCMLoss",
    "AUCPolyLoss",
    "CELoss",
    "HardCELoss",
    "MBLoss",
    "MinimaxObjective",
    "Objective",
    "PAUCILoss",
    "PartialAUCLoss",
    "SOPALoss",
    "SOPASLoss",
    "UPAUCILoss",
]
