"""HardCE: cross-entropy of the positives and the region's negatives."""

from __future__ import annotations

from typing import Any

from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.defaults import default_of
from pauc_lightning.methods.schedule import Schedule
from pauc_lightning.objectives import HardCELoss


class HardCE(PartialAUCModule):
    """Cross-entropy of the positives and the hardest negatives, selected by one tracked threshold, trained by SGD.

    Args:
        memory: About how many scores beyond a threshold decide its value; more is smoother, fewer follow faster.
        learning_rate: Step size of the optimizer, in the warm-up too.
        schedule: "constant", or "cosine": the step sizes fall from their full size to zero, once over the warm-up and
            once over the method.
        gradient_clip_norm: Largest norm of the gradient, in the warm-up too; null means no clipping.
        kwargs: See the arguments shared by all methods.
    """

    def __init__(
        self,
        *,
        memory: float = default_of(HardCELoss, "memory"),
        learning_rate: float = 0.1,
        schedule: Schedule = "cosine",
        gradient_clip_norm: float | None = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate, schedule=schedule, gradient_clip_norm=gradient_clip_norm, **kwargs
        )
        self.objective = HardCELoss(self.train_region.max_fpr, self.train_region.min_tpr, memory=memory)
