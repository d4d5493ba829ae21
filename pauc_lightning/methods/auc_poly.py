"""AUC-poly: hard instances weigh more, by a power of their error."""

from __future__ import annotations

from typing import Any

from pauc_lightning.methods.auc_weighted import AUCWeightedMethod
from pauc_lightning.methods.defaults import default_of
from pauc_lightning.objectives import AUCPolyLoss


class AUCPoly(AUCWeightedMethod):
    """The pairwise risk with polynomial weights on hard instances, trained by SGD.

    Reference: Yang, Xu, Bao, He, Cao and Huang, ICML 2021, https://proceedings.mlr.press/v139/yang21k.html.

    Args:
        gamma: Exponent of the weights; large values select only the hardest instances. The paper tries 0.03 to 5.
        kwargs: See the arguments shared by AUC-poly and AUC-exp.
    """

    def __init__(self, *, gamma: float = default_of(AUCPolyLoss, "gamma"), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.objective = AUCPolyLoss(self.train_region.max_fpr, self.train_region.min_tpr, gamma=gamma)
