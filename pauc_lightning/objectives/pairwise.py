"""Losses over all pairs of a positive and a negative, without ever holding the table of pairs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from pauc_lightning.distributed import gather, gather_with_grad
from pauc_lightning.objectives.base import Objective
from pauc_lightning.objectives.surrogate import Surrogate
from pauc_lightning.region import Region

# Pairs in one block of rows. On a CPU a block's few temporaries should stay in the cache (1 MiB each in
# float32, measured fastest); an accelerator wants large kernels, and 32 MiB each keep it within 1 GiB, too.
CPU_BLOCK_PAIRS = 1 << 18
ACCELERATOR_BLOCK_PAIRS = 1 << 23

Weigh = Callable[[Tensor, slice], tuple[Tensor, Tensor]]
"""``(losses [r, n₋], rows) -> (weights [r, n₋], statistic [r])``; ``rows`` says which r positives."""


def row_blocks(f_pos: Tensor, f_neg: Tensor) -> Iterator[slice]:
    """Consecutive slices of the positives whose pairs fit into a block; at least one positive each.

    Example:
        >>> list(row_blocks(torch.empty(3), torch.empty(CPU_BLOCK_PAIRS // 2)))
        [slice(0, 2, None), slice(2, 3, None)]
    """
    pairs = CPU_BLOCK_PAIRS if f_pos.device.type == "cpu" else ACCELERATOR_BLOCK_PAIRS
    size = max(1, pairs // len(f_neg))
    for start in range(0, len(f_pos), size):
        yield slice(start, min(start + size, len(f_pos)))


class _WeightedRowMeans(torch.autograd.Function):
    """The forward pass keeps O(n₊ + n₋) numbers; the backward pass computes each block a second time."""

    @staticmethod
    def forward(
        ctx: Any, f_pos: Tensor, f_neg: Tensor, surrogate: Surrogate, weigh: Weigh
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(f_pos, f_neg)
        ctx.surrogate, ctx.weigh = surrogate, weigh
        means, statistics = torch.empty_like(f_pos), torch.empty_like(f_pos)
        for rows in row_blocks(f_pos, f_neg):
            losses = surrogate.value(f_pos[rows, None] - f_neg)
            weights, statistics[rows] = weigh(losses, rows)
            means[rows] = losses.mul_(weights).mean(dim=1)
        ctx.mark_non_differentiable(statistics)
        return means, statistics

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor, Tensor, None, None]:
        f_pos, f_neg = ctx.saved_tensors
        grad_pos, grad_neg = torch.empty_like(f_pos), torch.zeros_like(f_neg)
        for rows in row_blocks(f_pos, f_neg):
            gaps = f_pos[rows, None] - f_neg
            weights, _ = ctx.weigh(ctx.surrogate.value(gaps), rows)
            slopes = ctx.surrogate.derivative(gaps).mul_(weights).mul_(grad[rows, None] / len(f_neg))
            grad_pos[rows] = slopes.sum(dim=1)
            grad_neg -= slopes.sum(dim=0)
        return grad_pos, grad_neg, None, None


def weighted_row_means(
    f_pos: Tensor, f_neg: Tensor, surrogate: Surrogate, weigh: Weigh
) -> tuple[Tensor, Tensor]:
    """For every positive i the mean over the negatives j of w_ij ℓ(f_i⁺ − f_j⁻), and a statistic of its row.

    Weights and statistics are constants: the gradient with respect to the scores is that of Σ_j w_ij ℓ_ij at
    fixed w. Nothing of size n₊·n₋ is ever allocated.

    Args:
        f_pos: Scores of the positives, shape [n₊], n₊ > 0.
        f_neg: Scores of the negatives, shape [n₋], n₋ > 0.
        surrogate: The pairwise loss ℓ.
        weigh: Weights and row statistic of a block of rows. Called again in the backward pass, so what it
            reads must not change in between.

    Returns:
        The means, shape [n₊], differentiable once, and the statistics, shape [n₊].

    Example:
        >>> from pauc_lightning.objectives.surrogate import SURROGATES
        >>> def above_one(losses, rows):
        ...     weights = (losses > 1).to(losses.dtype)
        ...     return weights, weights.mean(dim=1)
        >>> scores = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
        >>> weighted_row_means(*scores, SURROGATES["squared"], above_one)
        (tensor([0., 2.]), tensor([0.0000, 0.5000]))
    """
    means, statistics = _WeightedRowMeans.apply(f_pos, f_neg, surrogate, weigh)
    return means, statistics


class PairwiseObjective(Objective):
    """A loss over the pairs of a positive and a negative; a subclass writes :meth:`pair_loss`.

    On several processes the batch is the union of the ranks' batches: scores are gathered with their gradients, so
    that pairs across ranks count and N processes equal one process on the union batch.
    ``normalizer`` is not used: the loss is a mean over pairs.

    A batch without positives or without negatives has no pairs: the loss is 0, its gradient is 0, and no
    per-instance state changes.
    """

    exchanges_scores = True
    surrogate: Surrogate

    @property
    def needs_unit_scores(self) -> bool:
        """Whether scores outside [0, 1] are refused; the logistic surrogate takes any."""
        return self.surrogate.needs_unit_scores

    def exchange(self, f: Tensor, y: Tensor, index: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """The batches of all ranks; checked afterwards, so that all ranks refuse a batch together and none hangs."""
        return gather_with_grad(f), gather(y), None if index is None else gather(index)

    def loss(self, f: Tensor, y: Tensor, index: Tensor | None, normalizer: Tensor | float) -> Tensor:
        """The loss over the pairs of the gathered batch."""
        if index is not None:
            self.before_visit()
        is_positive = y == 1
        f_pos, f_neg = f[is_positive], f[~is_positive]
        if len(f_pos) == 0 or len(f_neg) == 0:
            return (f * 0).sum()
        return self.pair_loss(f_pos, f_neg, None if index is None else index[is_positive])

    def before_visit(self) -> None:
        """Called with every batch that may change the state, even if it lacks a class."""

    @abstractmethod
    def pair_loss(self, f_pos: Tensor, f_neg: Tensor, index: Tensor | None) -> Tensor:
        """The loss over the pairs of ``f_pos`` [n₊] and ``f_neg`` [n₋], both non-empty.

        ``index`` [n₊] is the positives' position in the training set where state is in use, else None.
        """


def add_at_(state: Tensor, index: Tensor, steps: Tensor) -> None:
    """Add ``steps`` to ``state[index]`` in place; steps of a repeated index add up.

    All ranks get the same numbers: even on a GPU an accumulating ``index_put_`` sums in a fixed order, unlike
    ``index_add_``.
    """
    state.index_put_((index,), steps.to(state.dtype), accumulate=True)


class StatefulPairwiseObjective(PairwiseObjective):
    """A pairwise loss with a number per training instance, kept in buffers of length ``train_size``.

    In ``train()`` mode every call is one visit: the loss is computed at the state, then the state is updated
    once, with or without gradients enabled. In ``eval()`` mode the state is neither read nor written and
    ``index`` is not needed: the loss uses the optimal state for this batch, so that it can be computed on
    validation data.
    """

    def __init__(self, region: Region, train_size: int | None) -> None:
        super().__init__(region, train_size=train_size)
        self.required_train_size()
        self._variables: dict[str, Tensor] = {}

    def variables(self) -> dict[str, Tensor]:
        """Scalars that summarise the state of the last visited batch, detached, for logging."""
        return self._variables
