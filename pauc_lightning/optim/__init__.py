"""Plain ``torch.optim.Optimizer`` classes: ``asgda`` for the minimax losses, ``agd_sbcd`` for AGD-SBCD's loss."""

from pauc_lightning.optim.agd_sbcd import AGDSBCDOptimizer
from pauc_lightning.optim.asgda import ASGDA

__all__ = ["ASGDA", "AGDSBCDOptimizer"]
