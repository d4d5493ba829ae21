"""AUC-poly: hard instances weighted by a power of their error."""

from __future__ import annotations

from torch import Tensor

from pauc_lightning.objectives.auc_weighted import AUCWeightedObjective
from pauc_lightning.region import Region


class AUCPolyLoss(AUCWeightedObjective):
    """AUC-poly: the weighted pairwise risk with φ(t) = (t + 10⁻⁶)^γ; the offset keeps the slope at 0 finite.

    Reference: Yang, Xu, Bao, He, Cao and Huang, "When All We Need is a Piece of the Pie: A Generic Framework for
    Optimizing Two-way Partial AUC", ICML 2021, https://proceedings.mlr.press/v139/yang21k.html.

    Tuning: a larger gamma favours fewer, harder instances. Separate the classes first, by a warm-up or with
    ``is_weighted = False``.

    Args:
        max_fpr: Largest false-positive rate that counts; the loss uses ``gamma`` instead.
        min_tpr: Smallest true-positive rate that counts; above 0 the positives are weighted as well.
        gamma: The exponent itself (the authors' γ_their gives 1/(γ_their − 1)); the paper tries 0.03 to 5.
    """

    def __init__(self, max_fpr: float = 1.0, min_tpr: float = 0.0, *, gamma: float = 1.0) -> None:
        super().__init__(Region(max_fpr, min_tpr), gamma)

    def phi(self, t: Tensor) -> Tensor:
        """(t + 10⁻⁶)^γ."""
        return (t + 1e-6) ** self.gamma
