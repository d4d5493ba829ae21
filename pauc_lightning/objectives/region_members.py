"""The samples of a batch, or of the training set, that a region selects."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from pauc_lightning.region import Region


class RegionMembers(NamedTuple):
    """Positions of the region's positives (the lowest-scored) and negatives (the highest-scored)."""

    positives: Tensor
    negatives: Tensor

    @classmethod
    def of(cls, logits: Tensor, target: Tensor, region: Region) -> RegionMembers | None:
        """Return the members of a one- or two-way region, at least one of each class; None if a class is missing.

        Args:
            logits: Scores of any range, shape ``(n,)``.
            target: 1 for positives, 0 for negatives, shape ``(n,)``.
            region: The region.
        """
        positives = (target == 1).nonzero().squeeze(1)
        negatives = (target == 0).nonzero().squeeze(1)
        if len(positives) == 0 or len(negatives) == 0:
            return None
        n_pos, _, n_neg = region.counts(len(positives), len(negatives))
        return cls(
            positives[logits[positives].topk(max(1, n_pos), largest=False).indices],
            negatives[logits[negatives].topk(max(1, n_neg)).indices],
        )
