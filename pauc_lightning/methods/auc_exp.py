"""AUC-exp: hard instances weigh more, by a saturating exponential of their error."""

from __future__ import annotations

from typing import Any

from pauc_lightning.methods.auc_weighted import AUCWeightedMethod
from pauc_lightning.objectives import AUCExpLoss


class AUCExp(AUCWeightedMethod):
    """The pairwise risk with exponential weights on hard instances (Yang et al. 2021), trained by SGD.

    How far the loss looks is set by ``gamma``, not by the region, which only selects one-way or two-way weights, the
    model and the reports.

    Args:
        gamma: Sharpness of the weights: the larger, the more instances count fully. The paper tries 8 to 30.
        unweighted_epochs: Epochs after the warm-up in which all instances weigh the same; the paper's E_k. The
            classes should be apart by then: scores that are all 0 have no weight, and so no loss.
        kwargs: See the arguments shared by all methods.
    """

    def __init__(self, *, gamma: float = 8.0, unweighted_epochs: int = 20, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.objective = AUCExpLoss(self.region.is_two_way, gamma, unweighted_epochs)
