"""AGD-SBCD: one-way partial AUC by descent on a Moreau envelope."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from pauc_lightning.arguments import check_integer, check_number
from pauc_lightning.methods.pairwise import StatefulPairwiseMethod
from pauc_lightning.objectives import AGDSBCDLoss
from pauc_lightning.objectives.surrogate import SurrogateName
from pauc_lightning.optim import AGDSBCDOptimizer, InnerLoops


class AGDSBCD(StatefulPairwiseMethod):
    """The sum of the largest pair losses, minimised by approximated gradient descent (Yao et al. 2022); one-way only.

    Args:
        inner_lr: Step size of the network in the first inner loop, falling as 1/(loop + 1); the authors' c.
        threshold_lr: Step size of a positive's threshold in the first inner loop, falling alike.
        first_loop: Batches in the first inner loop; the next ones have 4, 9, 16, ... times as many.
        mu: Smoothing of the envelope: large lets an inner loop go far from where it started.
        gamma: Step size after each inner loop: equal to ``mu`` it goes to the mean of the loop's iterates.
        surrogate: Loss of a pair with score gap s: "squared" is (1 - s)^2, "logistic" is log(1 + exp(-s)).
        kwargs: See the arguments shared by all methods. ``min_tpr`` must be 0; ``learning_rate`` and ``momentum``
            are those of the warm-up only.
    """

    def __init__(
        self,
        *,
        inner_lr: float = 0.1,
        threshold_lr: float = 0.1,
        first_loop: int = 50,
        mu: float = 1e3,
        gamma: float = 1e3,
        surrogate: SurrogateName = "logistic",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        for name, value in (("inner_lr", inner_lr), ("mu", mu), ("gamma", gamma)):
            check_number(name, value, above=0)
        check_integer("first_loop", first_loop, at_least=1, hint="it is a number of batches")
        self.inner_lr = inner_lr
        self.mu = mu
        self.gamma = gamma
        self.loops = InnerLoops(first_loop)
        self.objective = AGDSBCDLoss(
            self.required_train_size(),
            self.region.max_fpr,
            self.loops,
            min_tpr=self.region.min_tpr,
            threshold_lr=threshold_lr,
            surrogate=surrogate,
        )

    def configure_method_optimizer(self) -> Optimizer:
        """The optimizer that advances the loops which the objective reads."""
        return AGDSBCDOptimizer(
            self.parameters_to_train(),
            self.loops,
            lr=self.inner_lr,
            mu=self.mu,
            gamma=self.gamma,
            weight_decay=self.weight_decay,
        )

    def diagnostics(self) -> dict[str, Tensor]:
        """What the objective says about its thresholds, and how many inner loops are done."""
        return {**super().diagnostics(), "outer_steps": torch.tensor(float(self.loops.k))}
