"""SOPA-S: soft selection of the hard pairs; SOTA-s for the two-way partial AUC."""

from __future__ import annotations

from typing import Any

from torch.optim import SGD, Optimizer

from pauc_lightning.arguments import check_number
from pauc_lightning.methods.pairwise import StatefulPairwiseMethod
from pauc_lightning.objectives import SOPASLoss
from pauc_lightning.objectives.surrogate import SurrogateName


class SOPAS(StatefulPairwiseMethod):
    """The partial-AUC risk softened by a Kullback-Leibler penalty (Zhu et al. 2022), trained by SGD.

    How far the loss looks is set by the temperatures, not by the region, which only selects one-way or two-way
    weights, the model and the reports.

    Args:
        lambda_: Temperature over the negatives: small looks at the highest-scored ones only.
        tau: Temperature over the positives: small looks at the lowest-scored ones only; two-way only.
        u_rate: Rate of each positive's moving average; the paper's beta_0.
        w_rate: Rate of the moving average over the positives; two-way only.
        gradient_rate: Rate of the moving average of the gradient, in (0, 1]; the paper's beta_1. It takes the
            place of ``momentum`` (which would be 1 - gradient_rate) after the warm-up.
        surrogate: Loss of a pair with score gap s: "squared" is (1 - s)^2, "logistic" is log(1 + exp(-s)).
        kwargs: See the arguments shared by all methods.
    """

    def __init__(
        self,
        *,
        lambda_: float = 1.0,
        tau: float = 1.0,
        u_rate: float = 0.9,
        w_rate: float = 0.9,
        gradient_rate: float = 0.9,
        surrogate: SurrogateName = "squared",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_number("gradient_rate", gradient_rate, above=0, at_most=1, hint="the paper uses 0.9")
        self.gradient_rate = gradient_rate
        self.objective = SOPASLoss(
            self.required_train_size(),
            two_way=self.region.is_two_way,
            lambda_=lambda_,
            tau=tau,
            u_rate=u_rate,
            w_rate=w_rate,
            surrogate=surrogate,
        )

    def configure_method_optimizer(self) -> Optimizer:
        """SGD along v, where v ← (1 − β₁) v + β₁ G with G the batch's gradient; v starts at the first G."""
        kept = 1 - self.gradient_rate
        return SGD(
            self.parameters_to_train(),
            lr=self.learning_rate,
            momentum=kept,
            dampening=kept,
            weight_decay=self.weight_decay,
        )
