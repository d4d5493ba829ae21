"""SOPA: the exact partial AUC through learned thresholds."""

from __future__ import annotations

from typing import Any

from pauc_lightning.methods.pairwise import StatefulPairwiseMethod
from pauc_lightning.objectives import SOPALoss
from pauc_lightning.objectives.surrogate import SurrogateName


class SOPA(StatefulPairwiseMethod):
    """The exact partial-AUC risk with a learned threshold per positive (Zhu et al. 2022), trained by SGD.

    Args:
        threshold_lr: Step size of a positive's threshold, per visit.
        outer_threshold_lr: Step size of the threshold over the positives, per batch; two-way only.
        dual_lr: Step size of a positive's weight, per visit; two-way only.
        surrogate: Loss of a pair with score gap s: "squared" is (1 - s)^2, "logistic" is log(1 + exp(-s)).
        kwargs: See the arguments shared by all methods.
    """

    def __init__(
        self,
        *,
        threshold_lr: float = 0.1,
        outer_threshold_lr: float = 0.1,
        dual_lr: float = 0.1,
        surrogate: SurrogateName = "squared",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.objective = SOPALoss(
            self.required_train_size(),
            self.region.max_fpr,
            self.region.min_tpr,
            threshold_lr=threshold_lr,
            outer_threshold_lr=outer_threshold_lr,
            dual_lr=dual_lr,
            surrogate=surrogate,
        )
