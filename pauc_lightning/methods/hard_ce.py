"""HardCE: cross-entropy of the positives and the region's negatives."""

from __future__ import annotations

from typing import Any

from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.defaults import default_of
from pauc_lightning.objectives import HardCELoss


class HardCE(PartialAUCModule):
    """Cross-entropy of the positives and the hardest negatives, selected by one tracked threshold, trained by SGD.

    Args:
        memory: About how many scores beyond a threshold decide its value; more is smoother, fewer follow faster.
        kwargs: See the arguments shared by all methods.
    """

    def __init__(self, *, memory: float = default_of(HardCELoss, "memory"), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.objective = HardCELoss(self.train_region.max_fpr, self.train_region.min_tpr, memory=memory)
