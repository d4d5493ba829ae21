"""PAUCI: the smooth surrogate of the partial AUC."""

from __future__ import annotations

from typing import Any

from pauc_lightning.methods.defaults import default_of
from pauc_lightning.methods.minimax import MinimaxMethod
from pauc_lightning.objectives import PAUCILoss
from pauc_lightning.objectives.minimax import Constraint


class PAUCI(MinimaxMethod):
    """The instance-wise partial-AUC objective smoothed by softplus, trained by ASGDA.

    References: Jiang et al., 2025, https://arxiv.org/abs/2512.01213; Shao et al., NeurIPS 2022,
    https://arxiv.org/abs/2210.03967.

    Args:
        kappa: Sharpness of the softplus; the gap to the exact objective falls as 1/kappa. Strong concavity in
            gamma needs kappa <= 2 + 2 omega.
        omega: Strength of the penalty on gamma.
        constraint: How gamma >= max(-a, b - 1) is kept: "projection" on it, or the paper's "lagrangian".
        kwargs: See the arguments shared by the minimax methods.
    """

    def __init__(
        self,
        *,
        kappa: float = default_of(PAUCILoss, "kappa"),
        omega: float = default_of(PAUCILoss, "omega"),
        constraint: Constraint = default_of(PAUCILoss, "constraint"),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.objective = PAUCILoss(
            self.train_region.max_fpr,
            self.train_region.min_tpr,
            prior=self.prior,
            kappa=kappa,
            omega=omega,
            constraint=constraint,
            **self.initial_values(),
        )
