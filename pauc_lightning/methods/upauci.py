"""UPAUCI: the unbiased reformulation of the partial AUC."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from pauc_lightning.methods.defaults import default_of
from pauc_lightning.methods.minimax import MinimaxMethod
from pauc_lightning.objectives import UPAUCILoss
from pauc_lightning.objectives.minimax import Constraint
from pauc_lightning.objectives.upauci import Weights


class UPAUCI(MinimaxMethod):
    """The instance-wise partial-AUC objective with a selection weight per instance, trained by ASGDA.

    Reference: Jiang et al., 2025, https://arxiv.org/abs/2512.01213.

    Args:
        omega: Strength of the penalty on gamma and on the weights. Small values select exactly the region, larger
            ones spread the weight over more instances.
        weights: How the selection weights are maximised: "closed_form", or "ascent" on one stored weight per
            training sample as in the paper.
        c_step: Step size of the stored weights, for "ascent"; 1/(2 omega) jumps to the inner maximum at each visit.
        constraint: How gamma >= max(-a, b - 1) is kept: "projection" on it, or the paper's "lagrangian".
        kwargs: See the arguments shared by the minimax methods.
    """

    objective: UPAUCILoss

    def __init__(
        self,
        *,
        omega: float = default_of(UPAUCILoss, "omega"),
        weights: Weights = default_of(UPAUCILoss, "weights"),
        c_step: float = default_of(UPAUCILoss, "c_step"),
        constraint: Constraint = default_of(UPAUCILoss, "constraint"),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.objective = UPAUCILoss(
            self.train_region.max_fpr,
            self.train_region.min_tpr,
            train_size=self.train_size,
            prior=self.prior,
            omega=omega,
            constraint=constraint,
            weights=weights,
            c_step=c_step,
            **self.initial_values(*(["c"] if weights == "ascent" else [])),
        )

    def before_loss(self, scores: Tensor, target: Tensor, index: Tensor | None) -> None:
        """Ascend on the visited samples' stored weights, once per batch."""
        super().before_loss(scores, target, index)
        if index is not None and self.objective.needs_index:
            self.objective.ascend_(scores, target, index)
