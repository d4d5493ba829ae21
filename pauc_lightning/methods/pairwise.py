"""What the methods share whose loss is over pairs of a positive and a negative."""

from __future__ import annotations

from torch import Tensor

from pauc_lightning.errors import InputError
from pauc_lightning.methods.base import PartialAUCModule
from pauc_lightning.objectives.pairwise import PairwiseObjective, StatefulPairwiseObjective


class PairwiseMethod(PartialAUCModule):
    """A pairwise objective trained by SGD after the warm-up."""

    objective: PairwiseObjective

    def compute_loss(self, scores: Tensor, target: Tensor, index: Tensor | None) -> Tensor:
        """The loss over the pairs of all ranks' batches, which the objective gathers and normalises itself."""
        loss: Tensor = self.objective(scores, target, index)
        return loss


class StatefulPairwiseMethod(PairwiseMethod):
    """A pairwise objective that remembers something about every training sample."""

    objective: StatefulPairwiseObjective
    needs_index = True

    def required_train_size(self) -> int:
        """The number of training samples, for the objective's buffers; an error if it is not known."""
        if self.train_size is None:
            raise InputError(
                f"`train_size` must be the number of training samples for {type(self).__name__}, got None: there "
                "is state for each of them. Pass train_size=len(dataset), or with the command line give your data "
                "module an attribute `train_size`."
            )
        return self.train_size

    def diagnostics(self) -> dict[str, Tensor]:
        """What the objective says about its state."""
        return self.objective.variables()
