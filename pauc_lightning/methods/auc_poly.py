"""AUC-poly: hard instances weigh more, by a power of their error."""

from __future__ import annotations

from typing import Any

from pauc_lightning.methods.auc_weighted import AUCWeightedMethod
from pauc_lightning.methods.defaults import default_of
from pauc_lightning.objectives import AUCPolyLoss


class AUCPoly(AUCWeightedMethod):
    """The pairwise risk with polynomial weights on hard instances (Yang et al., ICML 2021), trained by SGD.

    Args:
        gamma: Exponent of the weights: large looks at the hardest instances only. The paper tries 0.03 to 5.
        kwargs: See the arguments shared by AUC-poly and AUC-exp.
    """

    def __init__(self, *, gamma: float = default_of(AUCPolyLoss, "gamma"), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.objective = AUCPolyLoss(self.region.max_fpr, self.region.min_tpr, gamma=gamma)
