"""SOPA: the exact partial AUC through learned thresholds."""

from __future__ import annotations

from typing import Any

from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.defaults import default_of
from pauc_lightning.objectives import SOPALoss
from pauc_lightning.objectives.surrogate import SurrogateName


class SOPA(PartialAUCModule):
    """The exact partial-AUC risk with a learned threshold per positive, trained by SGD.

    Reference: Zhu, Li, Wang, Wu and Yang, ICML 2022, https://arxiv.org/abs/2203.00176.

    Args:
        threshold_lr: Step size of a positive's threshold, per visit. The paper does not give it; with 0.1 a threshold
            settles within some ten visits.
        outer_threshold_lr: Step size of the threshold over the positives, per batch; two-way only.
        dual_lr: Step size of a positive's weight, per visit; two-way only.
        surrogate: Loss of a pair with score gap s: "squared" is (1 - s)^2, "logistic" is log(1 + exp(-s)).
        kwargs: See the arguments shared by all methods.
    """

    def __init__(
        self,
        *,
        threshold_lr: float = default_of(SOPALoss, "threshold_lr"),
        outer_threshold_lr: float = default_of(SOPALoss, "outer_threshold_lr"),
        dual_lr: float = default_of(SOPALoss, "dual_lr"),
        surrogate: SurrogateName = default_of(SOPALoss, "surrogate"),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.objective = SOPALoss(
            self.train_region.max_fpr,
            self.train_region.min_tpr,
            train_size=self.train_size,
            threshold_lr=threshold_lr,
            outer_threshold_lr=outer_threshold_lr,
            dual_lr=dual_lr,
            surrogate=surrogate,
        )
