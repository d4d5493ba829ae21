"""The optimizer of the minimax objectives: a plain ``torch.optim.Optimizer``."""

from pauc_lightning.optim.agd_sbcd import AGDSBCDOptimizer, InnerLoops
from pauc_lightning.optim.asgda import ASGDA

__all__ = ["ASGDA", "AGDSBCDOptimizer", "InnerLoops"]
