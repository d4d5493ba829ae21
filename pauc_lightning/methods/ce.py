"""CE: binary cross-entropy, the baseline that ignores the region."""

from __future__ import annotations

from typing import Any

from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.objectives import CELoss


class CE(PartialAUCModule):
    """Binary cross-entropy on the logits, trained by SGD; the region only selects the model and the reports.

    Args:
        kwargs: See the arguments shared by all methods. ``warmup_epochs`` has no effect, because the warm-up is
            the same training.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.warmup_epochs = 0
        self.objective = CELoss(self.train_region.max_fpr, self.train_region.min_tpr)
