"""A threshold that a given fraction of a class's scores exceeds, learned from mini-batches."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from pauc_lightning.arguments import check_number
from pauc_lightning.region import select_count

MEMORY = 20.0
"""Scores beyond the threshold that it remembers, unless told otherwise."""


class Visit(NamedTuple):
    """A batch's scores of one class, and the two of them between which its own quantile lies."""

    scores: Tensor
    inner: Tensor
    outer: Tensor


class TrackedThreshold(nn.Module):
    r"""The threshold t that a fraction r of a class's scores exceeds, in the population and not in the batch.

    The batch's own quantile is biased where the batch is small: of eight negatives one is above it, which is 12.5 %,
    even if 1 % is meant. This threshold moves by

        t ← t + e (k − rn) / (M + rn),

    n scores being in the batch and k of them above t. The steps add up to t's movement, which is bounded, so k is rn on
    average in the long run, for batches of any size. e is the scale of the scores beyond t, learned from earlier
    batches: it makes the step independent of the scores' unit, and as it does not depend on this batch it adds no bias.
    M is the memory: about M scores beyond t decide its value, and t follows scores that drift within (M + rn)/(rn)
    batches. A step never goes beyond the batch's own quantile: this keeps t stable where a batch is large, or e wrong.

    The first batch sets t to its own quantile. For r > ½ the mirror image is used, as then fewer scores are below t.

    Args:
        rate: The fraction r of the scores above the threshold, in (0, 1).
        memory: The memory M.

    Example:
        >>> threshold = TrackedThreshold(0.25)
        >>> threshold.set_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        >>> threshold.value  # one of four is above it
        tensor(3.5000)
    """

    value: Tensor
    scale: Tensor

    def __init__(self, rate: float, memory: float = MEMORY) -> None:
        super().__init__()
        check_number("memory", memory, above=0, hint="it is a number of scores; try 20")
        self.rate = rate
        self.memory = memory
        self._sign = 1.0 if rate <= 0.5 else -1.0
        self._fraction = min(rate, 1 - rate)
        self.register_buffer("value", torch.zeros(()))
        self.register_buffer("scale", torch.zeros(()))  # 0: nothing is known yet

    @torch.no_grad()
    def set_(self, scores: Tensor) -> None:
        """Set t to the quantile of ``scores``, shape ``(n,)``, n > 0, for example of the training set."""
        self._store(self._between(len(scores), *self._quantile(scores)), scores.std(correction=0))

    @torch.no_grad()
    def start_(self, scores: Tensor) -> Visit | None:
        """Begin a visit: if nothing is known yet, t becomes the batch's quantile.

        Args:
            scores: The scores of the class in the batch, shape ``(n,)``; an empty batch changes nothing.

        Returns:
            What :meth:`move_` needs when the loss has been computed at t; None for an empty batch.
        """
        if len(scores) == 0:
            return None
        quantile = self._quantile(scores)
        is_known = self.scale > 0
        scale = torch.where(is_known, self.scale, scores.std(correction=0))
        self._store(torch.where(is_known, self.value, self._between(len(scores), *quantile)), scale)
        return Visit(scores, *quantile)

    @torch.no_grad()
    def move_(self, visit: Visit | None) -> None:
        """End a visit: t moves by one step."""
        if visit is None:
            return
        scores = visit.scores
        value, scale = self.value.to(scores.dtype), self.scale.to(scores.dtype)
        beyond = self._sign * (scores - value)
        expected = self._fraction * len(scores)
        excess = beyond.clamp(min=0)
        count = (excess > 0).sum(dtype=scores.dtype)
        step = scale * (count - expected) / (self.memory + expected)
        low, high = self._sign * (visit.inner - value), self._sign * (visit.outer - value)
        # A single score where less than one is expected may be anywhere: it is no bound.
        high = high if expected >= 1 else torch.where(count >= 2, high, torch.inf)
        step = torch.where(step > 0, step.minimum(high.clamp(min=0)), step.maximum(low.clamp(max=0)))
        # The mean excess; if there is none, the distance to the nearest score, which is about log(1 + 1/expected)
        # times the mean excess in an exponential tail.
        observed = torch.where(
            count > 0, excess.sum() / count.clamp(min=1), -beyond.max() / math.log1p(1 / expected)
        )
        weight = torch.where(count > 0, count, expected)
        self._store(value + self._sign * step, scale + (observed - scale) * weight / (self.memory + weight))

    def _quantile(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """The neighbours between which the batch's quantile lies: the first outside the tail, the last inside it."""
        count = select_count(len(scores), self._fraction)
        is_upper = self._sign > 0
        tail = torch.topk(scores, count + 1, largest=is_upper, sorted=False).values
        ends = torch.topk(tail, min(2, count + 1), largest=not is_upper).values
        return ends[0], ends[-1]

    def _between(self, n: int, inner: Tensor, outer: Tensor) -> Tensor:
        """The quantile: the middle if the tail is a whole number of scores, so that t is no score's own value."""
        expected = self._fraction * n
        is_whole = abs(expected - round(expected)) < 1e-9 * n
        return inner + (outer - inner) / 2 if is_whole else inner

    def _store(self, value: Tensor, scale: Tensor) -> None:
        """Keep what is finite: differences of huge scores may overflow."""
        is_finite = value.isfinite() & scale.isfinite()
        self.value.copy_(torch.where(is_finite, value, self.value))
        self.scale.copy_(torch.where(is_finite, scale, self.scale))

    def extra_repr(self) -> str:
        """The settings, for printing."""
        return f"rate={self.rate:g}, memory={self.memory:g}"
