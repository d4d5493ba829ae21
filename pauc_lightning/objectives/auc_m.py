"""AUC-M: the instance-wise minimax form of the whole AUC's squared risk."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from pauc_lightning.arguments import check_number, check_prior
from pauc_lightning.errors import InputError
from pauc_lightning.objectives.checks import as_batch, check_labels, check_normalizer, check_scores


class AUCMLoss(nn.Module):
    """The saddle-point objective of Ying et al. 2016 (AUC-M), blind to the region.

    With p the fraction of positives, the mean over the batch of

        (1−p)(f−a)² 1₊ + p(f−b)² 1₋ + 2(1+α)[p f 1₋ − (1−p) f 1₊] − p(1−p)α²,

    minimised over the network, a and b, maximised over α. Its saddle value is p(1−p) (R − 1), R being the mean
    of (1 − (f⁺ − f⁻))² over all pairs; there a and b are the classes' mean scores and α = b − a. It is a sum
    over instances: nothing is exchanged between processes.

    Args:
        prior: Fraction p of positives in the training batches (the sampler's, not the data set's); left out,
            each batch's own.
        a: Initial a.
        b: Initial b.
        alpha: Initial alpha.
    """

    def __init__(
        self, prior: float | None = None, a: float = 0.0, b: float = 0.0, alpha: float = 0.0
    ) -> None:
        super().__init__()
        check_prior(prior)
        for name, value in (("a", a), ("b", b), ("alpha", alpha)):
            check_number(name, value)
        self.prior = prior
        self.a = nn.Parameter(torch.tensor(float(a)))
        self.b = nn.Parameter(torch.tensor(float(b)))
        self.alpha = nn.Parameter(torch.tensor(float(alpha)))

    def forward(
        self,
        scores: Tensor,
        target: Tensor,
        index: Tensor | None = None,
        normalizer: Tensor | float | None = None,
    ) -> Tensor:
        """The objective of a batch, a scalar: descend on the network, a, b and ascend on alpha.

        A batch without positives, or without negatives, is legal: that part contributes zero.

        Args:
            scores: Scores in [0, 1] (the sigmoid of the logits), shape [batch]. Half precision is widened.
            target: 1 for positives, 0 for negatives, shape [batch].
            index: Not used; every objective is called alike.
            normalizer: What the sum over the instances is divided by; left out, the batch size. On several
                processes give the mean of their batch sizes (and a fixed ``prior``): the average of the
                processes' gradients is then the gradient of the union batch.
        """
        f, y = _checked(scores, target)
        check_normalizer(normalizer)
        normalizer = max(len(f), 1) if normalizer is None else normalizer
        p = y.sum() / max(len(y), 1) if self.prior is None else self.prior
        from_a, from_b, push = f - self.a, f - self.b, 2 * (1 + self.alpha) * f
        positive = (1 - p) * y * (from_a * from_a - push)
        negative = p * (1 - y) * (from_b * from_b + push)
        return (positive + negative).sum() / normalizer - p * (1 - p) * self.alpha * self.alpha

    @torch.no_grad()
    def initialize_(self, scores: Tensor, target: Tensor) -> None:
        """Set a, b and alpha to their optimum for fixed scores, such as those after a warm-up."""
        f, y = _checked(scores, target)
        if not 0 < int(y.sum()) < len(y):
            raise InputError(
                f"`target` must hold both classes, got {int(y.sum())} positives of {len(y)} labels: "
                "initialise from the whole training set."
            )
        self.a.copy_(f[y > 0].mean())
        self.b.copy_(f[y == 0].mean())
        self.alpha.copy_(self.b - self.a)

    def param_groups(self, lr: float | None = None, lr_ascent: float | None = None) -> list[dict[str, Any]]:
        """The objective's groups for ``torch.optim.SGD``: a and b descend, alpha ascends, neither decays.

        Args:
            lr: Step size of a and b; left out, the optimizer's.
            lr_ascent: Step size of alpha; left out, the optimizer's.

        Example:
            >>> network, loss_fn = nn.Linear(5, 1), AUCMLoss(prior=0.1)
            >>> sgd = torch.optim.SGD([{"params": network.parameters()}, *loss_fn.param_groups()], lr=0.01)
            >>> [group["maximize"] for group in sgd.param_groups]
            [False, False, True]
        """
        groups: list[dict[str, Any]] = [
            {"params": [self.a, self.b], "weight_decay": 0.0},
            {"params": [self.alpha], "weight_decay": 0.0, "maximize": True},
        ]
        for group, step in zip(groups, (lr, lr_ascent), strict=True):
            if step is not None:
                group["lr"] = step
        return groups

    def variables(self) -> dict[str, Tensor]:
        """a, b and alpha, detached, for logging."""
        return {name: parameter.detach() for name, parameter in self.named_parameters(recurse=False)}


def _checked(scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Scores in float32 at least, and labels as numbers of the same type."""
    f, y = as_batch(scores, target, None)
    check_scores(f, in_unit_interval=True)
    check_labels(y)
    return f, y
