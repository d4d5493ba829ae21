"""The base class of losses over the instances inside the region, selected by tracked thresholds."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from pauc_lightning.distributed import gather, gather_with_grad
from pauc_lightning.objectives.base import Objective, check_both_classes
from pauc_lightning.objectives.selection import Part, RegionSelection, batch_parts, where
from pauc_lightning.region import Region


class SelectedObjective(Objective):
    """A loss over the positives and negatives inside the region; a subclass writes :meth:`region_loss`.

    The region's thresholds are at most three numbers, tracked over batches. In ``train()`` mode every call is one
    visit: the loss is computed at the thresholds, then they move once. In ``eval()`` mode the batch's own region counts
    and nothing moves, so that the loss can be computed on validation data.

    On several processes the batch is the union of the ranks' batches: scores are gathered with their gradients, so N
    processes equal one process on the union batch, and all hold the same thresholds. ``normalizer`` is not used.

    A batch without positives or without negatives has loss 0 and gradient 0; the thresholds of the class that it has
    move.

    Args:
        region: The region of the ROC curve that counts.
        memory: The thresholds' memory: see :class:`TrackedThreshold`.
    """

    exchanges_scores = True

    def __init__(self, region: Region, memory: float) -> None:
        super().__init__(region)
        self.selection = RegionSelection(region, memory)

    def exchange(self, f: Tensor, y: Tensor, index: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """The batches of all ranks; checked afterwards, so that all ranks refuse a batch together and none hangs."""
        return gather_with_grad(f), gather(y), None

    def loss(self, f: Tensor, y: Tensor, index: Tensor | None, normalizer: Tensor | float) -> Tensor:
        """The loss of the gathered batch; in ``train()`` mode the thresholds move."""
        f_pos, f_neg = where(f, y == 1), where(f, y != 1)
        visits = self.selection.start_(f_pos, f_neg) if self.training else None
        if len(f_pos) == 0 or len(f_neg) == 0:
            loss = (f * 0).sum()
        elif visits is not None:
            loss = self.region_loss(self.selection.positives(f_pos), self.selection.negatives(f_neg))
        else:
            loss = self.region_loss(*batch_parts(f_pos, f_neg, self.region))
        if visits is not None:
            self.selection.move_(visits)
        return loss

    @abstractmethod
    def region_loss(self, positives: Part, negatives: Part) -> Tensor:
        """The loss of the instances inside the region."""

    @torch.no_grad()
    def initialize_(self, scores: Tensor, target: Tensor, index: Tensor | None = None) -> None:
        """Set the thresholds to the quantiles of the given scores, such as those of the training set."""
        f, y, _ = self.checked(scores, target, None, uses_index=False)
        check_both_classes(y)
        self.selection.set_(f[y == 1], f[y != 1])

    def variables(self) -> dict[str, Tensor]:
        """The thresholds."""
        return self.selection.variables()
