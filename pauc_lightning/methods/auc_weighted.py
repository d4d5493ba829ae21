"""What AUC-poly and AUC-exp share: weights that start some epochs after the warm-up."""

from __future__ import annotations

from torch import Tensor

from pauc_lightning.methods.pairwise import PairwiseMethod
from pauc_lightning.objectives.auc_weighted import AUCWeightedObjective


class AUCWeightedMethod(PairwiseMethod):
    """A pairwise risk with soft weights, trained by SGD after the warm-up."""

    objective: AUCWeightedObjective

    def before_loss(self, scores: Tensor, target: Tensor, index: Tensor | None) -> None:
        """Tell the objective the epoch, with every batch: a run resumed within an epoch sees no epoch start."""
        self.objective.set_epoch(self.current_epoch - self.warmup_epochs)
