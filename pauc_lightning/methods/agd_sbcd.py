"""AGD-SBCD: one-way partial AUC by descent on a Moreau envelope."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from pauc_lightning.arguments import check_number
from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.defaults import default_of
from pauc_lightning.objectives import AGDSBCDLoss
from pauc_lightning.objectives.surrogate import SurrogateName
from pauc_lightning.optim import AGDSBCDOptimizer


class AGDSBCD(PartialAUCModule):
    """The sum of the largest pair losses, minimised by approximated gradient descent; one-way only.

    Reference: Yao, Lin and Yang, NeurIPS 2022, https://arxiv.org/abs/2203.01505.

    Args:
        inner_lr: Step size of the network in the first inner loop, falling as 1/(loop + 1); the authors' c, which they
            tune in [1e-5, 1].
        threshold_lr: Step size of a positive's threshold in the first inner loop, falling alike; the authors use c.
        first_loop: Batches in the first inner loop; the next ones have 4, 9, 16, ... times as many.
        mu: Smoothing of the envelope; large values let an inner loop move far from its start.
        gamma: Step size after each inner loop; a value equal to ``mu`` moves to the mean of the loop's iterates. The
            authors try 100, 1000 and 2000.
        surrogate: Loss of a pair with score gap s: "squared" is (1 - s)^2, as for all methods of the paper's
            comparison; "logistic" is log(1 + exp(-s)), the authors' choice.
        kwargs: See the arguments shared by all methods. ``min_tpr`` must be 0; ``learning_rate`` and ``momentum``
            apply to the warm-up only.
    """

    objective: AGDSBCDLoss

    def __init__(
        self,
        *,
        inner_lr: float = default_of(AGDSBCDOptimizer, "lr"),
        threshold_lr: float = default_of(AGDSBCDLoss, "threshold_lr"),
        first_loop: int = default_of(AGDSBCDLoss, "first_loop"),
        mu: float = default_of(AGDSBCDOptimizer, "mu"),
        gamma: float = default_of(AGDSBCDOptimizer, "gamma"),
        surrogate: SurrogateName = default_of(AGDSBCDLoss, "surrogate"),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        for name, value in (("inner_lr", inner_lr), ("mu", mu), ("gamma", gamma)):
            check_number(name, value, above=0)
        self.inner_lr = inner_lr
        self.mu = mu
        self.gamma = gamma
        self.objective = AGDSBCDLoss(
            self.train_region.max_fpr,
            self.train_region.min_tpr,
            train_size=self.train_size,
            threshold_lr=threshold_lr,
            first_loop=first_loop,
            surrogate=surrogate,
        )

    def configure_method_optimizer(self) -> Optimizer:
        """The optimizer that advances the loops which the objective reads."""
        return AGDSBCDOptimizer(
            self.parameters_to_train(),
            self.objective.loops,
            lr=self.inner_lr,
            mu=self.mu,
            gamma=self.gamma,
            weight_decay=self.weight_decay,
        )

    def diagnostics(self) -> dict[str, Tensor]:
        """The objective's variables, and the number of finished inner loops."""
        return {**super().diagnostics(), "outer_steps": torch.tensor(float(self.objective.loops.k))}
