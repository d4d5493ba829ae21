"""The base class of AUC-poly and AUC-exp, whose weights start some epochs after the warm-up."""

from __future__ import annotations

from typing import Any

from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor

from pauc_lightning.arguments import check_integer
from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.objectives.auc_weighted import AUCWeightedObjective


class AUCWeightedMethod(PartialAUCModule):
    """A pairwise risk with soft weights, trained by SGD after the warm-up.

    The weights depend on ``gamma``. The region only selects one-way or two-way weights, the model and the reports.

    Args:
        unweighted_epochs: Epochs after the warm-up in which all instances weigh the same; the paper's E_k, which it
            tries from 3 to 20 of 50 epochs. The classes should be separated by then: scores that are all 0 have zero
            weight and zero loss.
        kwargs: See the arguments shared by all methods.
    """

    objective: AUCWeightedObjective

    def __init__(self, *, unweighted_epochs: int = 3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_integer("unweighted_epochs", unweighted_epochs, at_least=0)
        self.unweighted_epochs = unweighted_epochs

    def on_train_start(self) -> None:
        """Warn if training ends before the weights begin."""
        super().on_train_start()
        begin, end = self.warmup_epochs + self.unweighted_epochs, self.trainer.max_epochs
        if end is not None and 0 < end <= begin and not self.trainer.fast_dev_run:  # type: ignore[attr-defined]
            rank_zero_warn(
                f"The weights of {type(self).__name__} never begin: `unweighted_epochs={self.unweighted_epochs}` and "
                f"`warmup_epochs={self.warmup_epochs}` leave nothing of `trainer.max_epochs={end}`, so this trains for "
                "the whole AUC. Lower unweighted_epochs, or raise max_epochs."
            )

    def before_loss(self, scores: Tensor, target: Tensor, index: Tensor | None) -> None:
        """Switch the weights on from their first epoch; done with every batch, as a resumed run may skip its start."""
        self.objective.is_weighted = self.current_epoch - self.warmup_epochs >= self.unweighted_epochs
