"""The optimizers of the losses with variables or inner loops: plain ``torch.optim.Optimizer`` classes."""

from pauc_lightning.optim.agd_sbcd import AGDSBCDOptimizer
from pauc_lightning.optim.asgda import ASGDA

__all__ = ["ASGDA", "AGDSBCDOptimizer"]
