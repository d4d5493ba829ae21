"""AUC-exp: hard instances weighted by a saturating exponential of their error."""

from __future__ import annotations

import torch
from torch import Tensor

from pauc_lightning.objectives.auc_weighted import AUCWeightedObjective
from pauc_lightning.region import Region


class AUCExpLoss(AUCWeightedObjective):
    """AUC-exp: the weighted pairwise risk with φ(t) = 1 − e^{−γt}.

    Reference: Yang, Xu, Bao, He, Cao and Huang, "When All We Need is a Piece of the Pie: A Generic Framework for
    Optimizing Two-way Partial AUC", ICML 2021, https://proceedings.mlr.press/v139/yang21k.html.

    Tuning: a smaller gamma favours fewer, harder instances. Separate the classes first, by a warm-up or with
    ``is_weighted = False``.

    Args:
        max_fpr: Largest false-positive rate that counts; the loss uses ``gamma`` instead.
        min_tpr: Smallest true-positive rate that counts; above 0 the positives are weighted as well.
        gamma: Sharpness of the weight; the paper tries 8 to 30.
    """

    def __init__(self, max_fpr: float = 1.0, min_tpr: float = 0.0, *, gamma: float = 8.0) -> None:
        super().__init__(Region(max_fpr, min_tpr), gamma)

    def phi(self, t: Tensor) -> Tensor:
        """1 − e^{−γt}."""
        return -torch.expm1(-self.gamma * t)
