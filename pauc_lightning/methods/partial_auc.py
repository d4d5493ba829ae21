"""PartialAUC: the partial-AUC risk itself, with any surrogate."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.defaults import default_of
from pauc_lightning.methods.schedule import Schedule
from pauc_lightning.objectives import PartialAUCLoss
from pauc_lightning.objectives.partial_auc import Score
from pauc_lightning.objectives.surrogate import AnySurrogateName


class PartialAUC(PartialAUCModule):
    """The exact partial-AUC risk for any surrogate, its pairs selected by one tracked threshold, trained by SGD.

    Args:
        surrogate: Loss of a pair with score gap s: "logistic" is log(1 + exp(-s)), "squared_hinge" max(0, 1 - s)^2,
            "hinge" max(0, 1 - s), "exponential" exp(-s), "sigmoid" 1 / (1 + exp(s)), "squared" (1 - s)^2.
        score: Whether s is a difference of the network's outputs ("logit") or of their sigmoids ("sigmoid"); null means
            "sigmoid" for "squared", which needs it, and "logit" for the others. With either, the outputs are first
            divided by ``temperature``: on logits, the hinges then want a gap of that size instead of 1.
        memory: About how many scores beyond a threshold decide its value; more is smoother, fewer follow faster.
        learning_rate: Step size of the optimizer, in the warm-up too; linear models want up to 1, networks less.
        schedule: "constant", or "cosine": the step sizes fall from their full size to zero, once over the warm-up and
            once over the method.
        gradient_clip_norm: Largest norm of the gradient, in the warm-up too; null means no clipping.
        kwargs: See the arguments shared by all methods.
    """

    def __init__(
        self,
        *,
        surrogate: AnySurrogateName = default_of(PartialAUCLoss, "surrogate"),
        score: Score | None = default_of(PartialAUCLoss, "score"),
        memory: float = default_of(PartialAUCLoss, "memory"),
        learning_rate: float = 0.1,
        schedule: Schedule = "cosine",
        gradient_clip_norm: float | None = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate, schedule=schedule, gradient_clip_norm=gradient_clip_norm, **kwargs
        )
        region = self.train_region
        self.objective = objective = PartialAUCLoss(
            region.max_fpr, region.min_tpr, surrogate=surrogate, score=score, memory=memory
        )
        self.score = objective.score

    def objective_input(self, logits: Tensor) -> Tensor:
        """Return logits / T, or their sigmoid."""
        return logits / self.temperature if self.score == "logit" else super().objective_input(logits)
