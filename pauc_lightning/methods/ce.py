"""Binary cross-entropy, the baseline that ignores the region."""

from __future__ import annotations

from typing import Any

from pauc_lightning.data.sample import Sample
from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.stepping import Evaluation


class CE(PartialAUCModule):
    """Binary cross-entropy on the logits, trained by SGD; the region only selects the model and the reports.

    Args:
        kwargs: See the arguments shared by all methods. A warm-up would be the method itself, so
            ``warmup_epochs`` has no effect.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.warmup_epochs = 0

    def _evaluate_method(self, sample: Sample, is_first: bool) -> Evaluation:
        return self._evaluate_cross_entropy(sample, is_first)
