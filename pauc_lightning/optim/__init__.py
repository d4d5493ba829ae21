"""The optimizer of the minimax objectives: a plain ``torch.optim.Optimizer``."""

from pauc_lightning.optim.agd_sbcd import AGDSBCD, InnerLoops
from pauc_lightning.optim.asgda import ASGDA

__all__ = ["AGDSBCD", "ASGDA", "InnerLoops"]
