"""AUC-exp: hard instances weighted by a saturating exponential of their error."""

from __future__ import annotations

import torch
from torch import Tensor

from pauc_lightning.objectives.auc_weighted import AUCWeightedObjective


class AUCExpLoss(AUCWeightedObjective):
    """AUC-exp (Yang et al. 2021): φ(t) = 1 − e^{−γt}.

    Args:
        two_way: Whether the positives are weighted, too, for the two-way partial AUC.
        gamma: Sharpness of the weight; the paper tries 8 to 30.
        unweighted_epochs: Epochs with all weights 1, the paper's E_k; needs ``set_epoch`` at every epoch's start.
    """

    def __init__(self, two_way: bool = False, gamma: float = 8.0, unweighted_epochs: int = 0) -> None:
        super().__init__(two_way, gamma, unweighted_epochs)

    def phi(self, t: Tensor) -> Tensor:
        """1 − e^{−γt}."""
        return -torch.expm1(-self.gamma * t)
