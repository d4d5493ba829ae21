"""The instances inside a region, selected by one threshold per bound, with weights that make their sums exact."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from pauc_lightning.objectives.threshold import TrackedThreshold, Visit
from pauc_lightning.region import Region


class Part(NamedTuple):
    """One class inside the region: its selected instances, and the thresholds with the rest of the weight.

    The mean of a function h over the part is ``weight * h(scores).sum() + (remainders * h(thresholds)).sum()``. All
    weights together are 1. A remainder is what the batch's count lacks, or has too much: zero on average. Gradients
    flow through the scores only.
    """

    scores: Tensor
    """Of the selected instances, shape ``(k,)``."""
    weight: float
    """Of each of them."""
    thresholds: Tensor
    """Where the selection begins and ends, shape ``(m,)``; m is 0, 1 or 2."""
    remainders: Tensor
    """Their weights, shape ``(m,)``."""


class RegionSelection(nn.Module):
    """Which positives and negatives are inside a region, by thresholds that are tracked over batches.

    For a loss that does not increase with the gap between positive and negative, the region holds the negatives with
    scores between two thresholds (where the false-positive rate is ``max_fpr`` and ``min_fpr``) and the positives below
    a third (where the true-positive rate is ``min_tpr``), the same for every pair. Bounds of 0 and 1 need no threshold.

    Args:
        region: The region.
        memory: The thresholds' memory: see :class:`TrackedThreshold`.
    """

    at_max_fpr: TrackedThreshold | None
    at_min_fpr: TrackedThreshold | None
    at_min_tpr: TrackedThreshold | None

    def __init__(self, region: Region, memory: float) -> None:
        super().__init__()
        self.region = region

        def threshold(rate: float) -> TrackedThreshold | None:
            return TrackedThreshold(rate, memory) if 0 < rate < 1 else None

        self.at_max_fpr = threshold(region.max_fpr)
        self.at_min_fpr = threshold(region.min_fpr)
        self.at_min_tpr = threshold(region.min_tpr)

    def set_(self, f_pos: Tensor, f_neg: Tensor) -> None:
        """Set the thresholds to the quantiles of the given scores; both classes must occur."""
        for threshold, scores in self._tracked(f_pos, f_neg):
            threshold.set_(scores)

    def start_(self, f_pos: Tensor, f_neg: Tensor) -> list[Visit | None]:
        """Begin the visit of a batch; the result is for :meth:`move_`."""
        return [threshold.start_(scores) for threshold, scores in self._tracked(f_pos, f_neg)]

    def move_(self, visits: list[Visit | None]) -> None:
        """End the visit: the thresholds move."""
        for threshold, visit in zip(self._thresholds(), visits, strict=True):
            threshold.move_(visit)

    def positives(self, f_pos: Tensor) -> Part:
        """The positives inside the region, at the thresholds; ``f_pos`` [n₊] is not empty."""
        if self.at_min_tpr is None:
            return _all(f_pos)
        threshold = _value(self.at_min_tpr, f_pos)
        chosen = where(f_pos, f_pos.detach() < threshold)
        weight = 1 / (self.region.alpha * len(f_pos))
        return Part(chosen, weight, threshold[None], threshold.new_full((1,), 1 - weight * len(chosen)))

    def negatives(self, f_neg: Tensor) -> Part:
        """The negatives inside the region, at the thresholds; ``f_neg`` [n₋] is not empty."""
        region, n, scores = self.region, len(f_neg), f_neg.detach()
        weight = 1 / ((region.max_fpr - region.min_fpr) * n)
        is_inside = torch.ones_like(scores, dtype=torch.bool)
        thresholds: list[Tensor] = []
        remainders: list[Tensor] = []
        if self.at_max_fpr is not None:
            low = _value(self.at_max_fpr, f_neg)
            is_inside = scores > low
            thresholds.append(low)
            remainders.append(weight * (region.max_fpr * n - is_inside.sum(dtype=scores.dtype)))
        if self.at_min_fpr is not None:
            high = _value(self.at_min_fpr, f_neg)
            if self.at_max_fpr is not None:
                high = high.maximum(low)  # two noisy thresholds may cross
            is_above = scores > high
            is_inside = is_inside & ~is_above
            thresholds.append(high)
            remainders.append(weight * (is_above.sum(dtype=scores.dtype) - region.min_fpr * n))
        if not thresholds:
            return _all(f_neg)
        chosen = where(f_neg, is_inside)
        return Part(chosen, weight, torch.stack(thresholds), torch.stack(remainders))

    def variables(self) -> dict[str, Tensor]:
        """The thresholds, detached, by name."""
        named = {"at_max_fpr": self.at_max_fpr, "at_min_fpr": self.at_min_fpr, "at_min_tpr": self.at_min_tpr}
        return {
            f"threshold_{name}": tracked.value.clone()
            for name, tracked in named.items()
            if tracked is not None
        }

    def _thresholds(self) -> list[TrackedThreshold]:
        return [t for t in (self.at_max_fpr, self.at_min_fpr, self.at_min_tpr) if t is not None]

    def _tracked(self, f_pos: Tensor, f_neg: Tensor) -> list[tuple[TrackedThreshold, Tensor]]:
        """The thresholds, each with the scores that it is for."""
        f_pos, f_neg = f_pos.detach(), f_neg.detach()
        return [(t, f_pos if t is self.at_min_tpr else f_neg) for t in self._thresholds()]


def batch_parts(f_pos: Tensor, f_neg: Tensor, region: Region) -> tuple[Part, Part]:
    """The positives and the negatives of the batch that are inside the region of this batch, at least one of each.

    Example:
        >>> f_pos, f_neg = torch.tensor([0.5, 1.0]), torch.tensor([0.0, 0.5, 0.25, 0.0])
        >>> [part.scores.tolist() for part in batch_parts(f_pos, f_neg, Region(max_fpr=0.5, min_tpr=0.5))]
        [[0.5], [0.5, 0.25]]
    """
    n_pos, first, last = region.counts(len(f_pos), len(f_neg))
    last = max(last, 1)
    first = min(first, last - 1)
    lowest = torch.topk(f_pos, max(n_pos, 1), largest=False).values
    highest = torch.topk(f_neg, last).values[first:]
    return _all(lowest), _all(highest)


def _all(scores: Tensor) -> Part:
    """All instances, equally weighted."""
    nothing = scores.new_empty(0)
    return Part(scores, 1 / len(scores), nothing, nothing)


def where(scores: Tensor, is_chosen: Tensor) -> Tensor:
    """``scores[is_chosen]`` with a faster gradient."""
    return scores.index_select(0, is_chosen.nonzero()[:, 0])


def _value(threshold: TrackedThreshold, like: Tensor) -> Tensor:
    """A copy, because the threshold moves before the gradient is computed."""
    return threshold.value.to(like.dtype, copy=True)
