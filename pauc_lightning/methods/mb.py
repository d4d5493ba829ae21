"""MB: the partial AUC of each mini-batch."""

from __future__ import annotations

from typing import Any

from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.methods.defaults import default_of
from pauc_lightning.objectives import MBLoss
from pauc_lightning.objectives.surrogate import SurrogateName


class MB(PartialAUCModule):
    """The partial-AUC risk with the region selected within each mini-batch, trained by SGD.

    Reference: Kar, Narasimhan and Jain, NeurIPS 2014, https://arxiv.org/abs/1410.6776.

    Args:
        surrogate: Loss of a pair with score gap s: "squared" is (1 - s)^2, "logistic" is log(1 + exp(-s)).
        kwargs: See the arguments shared by all methods.
    """

    def __init__(self, *, surrogate: SurrogateName = default_of(MBLoss, "surrogate"), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.objective = MBLoss(self.train_region.max_fpr, self.train_region.min_tpr, surrogate=surrogate)
