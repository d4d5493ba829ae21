"""AUC-exp: hard instances weigh more, by a saturating exponential of their error."""

from __future__ import annotations

from typing import Any

from pauc_lightning.methods.auc_weighted import AUCWeightedMethod
from pauc_lightning.methods.defaults import default_of
from pauc_lightning.objectives import AUCExpLoss


class AUCExp(AUCWeightedMethod):
    """The pairwise risk with exponential weights on hard instances, trained by SGD.

    Reference: Yang, Xu, Bao, He, Cao and Huang, ICML 2021, https://proceedings.mlr.press/v139/yang21k.html.

    Args:
        gamma: Sharpness of the weights; with larger values more instances count fully. The paper tries 8 to 30.
        kwargs: See the arguments shared by AUC-poly and AUC-exp.
    """

    def __init__(self, *, gamma: float = default_of(AUCExpLoss, "gamma"), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.objective = AUCExpLoss(self.train_region.max_fpr, self.train_region.min_tpr, gamma=gamma)
