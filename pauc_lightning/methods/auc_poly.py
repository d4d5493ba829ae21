"""AUC-poly: hard instances weigh more, by a power of their error."""

from __future__ import annotations

from typing import Any

from pauc_lightning.methods.auc_weighted import AUCWeightedMethod
from pauc_lightning.objectives import AUCPolyLoss


class AUCPoly(AUCWeightedMethod):
    """The pairwise risk with polynomial weights on hard instances (Yang et al. 2021), trained by SGD.

    How far the loss looks is set by ``gamma``, not by the region, which only selects one-way or two-way weights, the
    model and the reports.

    Args:
        gamma: Exponent of the weights: large looks at the hardest instances only. The paper tries 0.03 to 5.
        unweighted_epochs: Epochs after the warm-up in which all instances weigh the same; the paper's E_k. The
            classes should be apart by then: scores that are all 0 have no weight, and so no loss.
        kwargs: See the arguments shared by all methods.
    """

    def __init__(self, *, gamma: float = 1.0, unweighted_epochs: int = 20, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.objective = AUCPolyLoss(self.region.is_two_way, gamma, unweighted_epochs)
