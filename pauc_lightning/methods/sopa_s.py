"""SOPA-S: soft selection of the hard pairs; SOTA-s for the two-way partial AUC."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer

from pauc_lightning.arguments import check_number
from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.defaults import default_of
from pauc_lightning.methods.optimizers import build_optimizer
from pauc_lightning.objectives import SOPASLoss
from pauc_lightning.objectives.surrogate import SurrogateName


class SOPAS(PartialAUCModule):
    """The partial-AUC risk softened by a Kullback-Leibler penalty, trained by SGD.

    The selection depends on the temperatures. The region only selects one-way or two-way weights, the model and the
    reports. Reference: Zhu, Li, Wang, Wu and Yang, ICML 2022, https://arxiv.org/abs/2203.00176.

    Args:
        lambda_: Temperature over the negatives; small values select only the highest-scored ones. The paper tries 0.1,
            1 and 10.
        tau: Temperature over the positives; small values select only the lowest-scored ones. Two-way only.
        u_rate: Rate of each positive's moving average; the paper's beta_0.
        w_rate: Rate of the moving average over the positives; two-way only.
        gradient_rate: Rate of the moving average of the gradient, in (0, 1]; the paper's beta_1. It
            replaces ``momentum`` (which would be 1 - gradient_rate) after the warm-up, if ``optimizer`` is SGD.
        surrogate: Loss of a pair with score gap s: "squared" is (1 - s)^2, "logistic" is log(1 + exp(-s)).
        kwargs: See the arguments shared by all methods.
    """

    def __init__(
        self,
        *,
        lambda_: float = default_of(SOPASLoss, "lambda_"),
        tau: float = default_of(SOPASLoss, "tau"),
        u_rate: float = default_of(SOPASLoss, "u_rate"),
        w_rate: float = default_of(SOPASLoss, "w_rate"),
        gradient_rate: float = 0.9,
        surrogate: SurrogateName = default_of(SOPASLoss, "surrogate"),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_number("gradient_rate", gradient_rate, above=0, at_most=1, hint="the paper uses 0.9")
        self.gradient_rate = gradient_rate
        self.objective = SOPASLoss(
            self.train_region.max_fpr,
            self.train_region.min_tpr,
            train_size=self.train_size,
            lambda_=lambda_,
            tau=tau,
            u_rate=u_rate,
            w_rate=w_rate,
            surrogate=surrogate,
        )

    def configure_method_optimizer(self) -> Optimizer:
        """SGD along v, where v ← (1 − β₁) v + β₁ G with G the batch's gradient; v starts at the first G.

        Another optimizer has averages of its own.
        """
        if self.optimizer_name != "SGD":
            return super().configure_method_optimizer()
        kept = 1 - self.gradient_rate
        return build_optimizer(
            "SGD",
            {"dampening": kept, **(self.optimizer_options or {})},
            [{"params": self.parameters_to_train()}],
            lr=self.learning_rate,
            momentum=kept,
            weight_decay=self.weight_decay,
        )
