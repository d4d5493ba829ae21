"""AUC-poly: hard instances weighted by a power of their error."""

from __future__ import annotations

from torch import Tensor

from pauc_lightning.objectives.auc_weighted import AUCWeightedObjective


class AUCPolyLoss(AUCWeightedObjective):
    """AUC-poly (Yang et al. 2021): φ(t) = (t + 10⁻⁶)^γ; the offset keeps the slope at 0 finite.

    Args:
        two_way: Whether the positives are weighted, too, for the two-way partial AUC.
        gamma: The exponent itself (the authors' γ_their gives 1/(γ_their − 1)); the paper tries 0.03 to 5.
        unweighted_epochs: Epochs with all weights 1, the paper's E_k; needs ``set_epoch`` at every epoch's start.
    """

    def __init__(self, two_way: bool = False, gamma: float = 1.0, unweighted_epochs: int = 0) -> None:
        super().__init__(two_way, gamma, unweighted_epochs)

    def phi(self, t: Tensor) -> Tensor:
        """(t + 10⁻⁶)^γ."""
        return (t + 1e-6) ** self.gamma
