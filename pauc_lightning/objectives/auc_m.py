"""AUC-M: the instance-wise minimax form of the whole AUC's squared risk."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pauc_lightning.arguments import check_number
from pauc_lightning.objectives.base import Objective, check_both_classes, scalar, with_step_sizes
from pauc_lightning.region import Region


class AUCMLoss(Objective):
    """AUC-M: the squared risk of the whole AUC as a saddle-point problem, without pairs.

    With p the fraction of positives, the mean over the batch of

        (1−p)(f−a)² 1₊ + p(f−b)² 1₋ + 2(1+α)[p f 1₋ − (1−p) f 1₊] − p(1−p)α²,

    minimised over the network, a and b, maximised over α. Its saddle value is p(1−p) (R − 1), R being the mean
    of (1 − (f⁺ − f⁻))² over all pairs; there a and b are the classes' mean scores and α = b − a. It is a sum
    over instances: nothing is exchanged between processes. It ignores the region.

    Reference: Ying, Wen and Lyu, "Stochastic Online AUC Maximization", NeurIPS 2016,
    https://papers.nips.cc/paper/6065-stochastic-online-auc-maximization.

    Tuning: one step size for the network and the three variables is a good start; call :meth:`initialize_` after a
    warm-up rather than letting a and b travel.

    Args:
        max_fpr: Largest false-positive rate that counts; the loss does not use it.
        min_tpr: Smallest true-positive rate that counts; the loss does not use it.
        prior: Fraction p of positives in the training batches (the sampler's, not the data set's); None
            uses each batch's own.
        a: Initial a.
        b: Initial b.
        alpha: Initial alpha.
    """

    def __init__(
        self,
        max_fpr: float = 1.0,
        min_tpr: float = 0.0,
        *,
        prior: float | None = None,
        a: float = 0.0,
        b: float = 0.0,
        alpha: float = 0.0,
    ) -> None:
        super().__init__(Region(max_fpr, min_tpr), prior=prior)
        for name, value in (("a", a), ("b", b), ("alpha", alpha)):
            check_number(name, value)
        self.a = scalar(a)
        self.b = scalar(b)
        self.alpha = scalar(alpha)

    def loss(self, f: Tensor, y: Tensor, index: Tensor | None, normalizer: Tensor | float) -> Tensor:
        """The objective of a batch: descend on the network, a, b and ascend on alpha."""
        p = y.sum() / max(len(y), 1) if self.prior is None else self.prior
        from_a, from_b, push = f - self.a, f - self.b, 2 * (1 + self.alpha) * f
        positive = (1 - p) * y * (from_a * from_a - push)
        negative = p * (1 - y) * (from_b * from_b + push)
        return (positive + negative).sum() / normalizer - p * (1 - p) * self.alpha * self.alpha

    @torch.no_grad()
    def initialize_(self, scores: Tensor, target: Tensor, index: Tensor | None = None) -> None:
        """Set a, b and alpha to their optimum for fixed scores, such as those after a warm-up."""
        f, y, _ = self.checked(scores, target, index, uses_index=False)
        check_both_classes(y)
        self.a.copy_(f[y > 0].mean())
        self.b.copy_(f[y == 0].mean())
        self.alpha.copy_(self.b - self.a)

    def param_groups(self, lr: float | None = None, lr_ascent: float | None = None) -> list[dict[str, Any]]:
        """The groups for ``torch.optim.SGD``: a and b descend, alpha ascends, neither decays.

        Args:
            lr: Step size of a and b; None uses the optimizer's.
            lr_ascent: Step size of alpha; None uses the optimizer's.

        Example:
            >>> network, loss_fn = torch.nn.Linear(5, 1), AUCMLoss(prior=0.1)
            >>> sgd = torch.optim.SGD([{"params": network.parameters()}, *loss_fn.param_groups()], lr=0.01)
            >>> [group["maximize"] for group in sgd.param_groups]
            [False, False, True]
        """
        groups: list[dict[str, Any]] = [
            {"params": [self.a, self.b], "weight_decay": 0.0},
            {"params": [self.alpha], "weight_decay": 0.0, "maximize": True},
        ]
        return with_step_sizes(groups, lr, lr_ascent)
