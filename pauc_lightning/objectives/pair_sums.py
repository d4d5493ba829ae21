"""Sums of a surrogate loss over all pairs of a positive and a negative, as fast as the surrogate allows.

The squared loss factorises, and a hinge or a squared hinge is a polynomial on one side of its kink: after sorting,
cumulative sums give all pairs in O(n log n). The others need the pairs themselves, block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from pauc_lightning.objectives.pairwise import row_blocks
from pauc_lightning.objectives.surrogate import SURROGATES, AnySurrogateName, Surrogate


def pair_sum(f_pos: Tensor, f_neg: Tensor, surrogate: AnySurrogateName) -> Tensor:
    """The sum of ℓ(f_i⁺ − f_j⁻) over all pairs, differentiable once by both; 0 without pairs.

    Args:
        f_pos: Scores of the positives, shape [n₊].
        f_neg: Scores of the negatives, shape [n₋].
        surrogate: The loss of a pair.

    Example:
        >>> pair_sum(torch.tensor([2.0, 1.0]), torch.tensor([0.0, 0.5]), "hinge")  # of four pairs one has a gap below 1
        tensor(0.5000)
    """
    if len(f_pos) == 0 or len(f_neg) == 0:
        return f_pos.sum() * 0 + f_neg.sum() * 0
    fast = _FAST.get(surrogate)
    return blockwise_sum(f_pos, f_neg, surrogate) if fast is None else fast(f_pos, f_neg)


def blockwise_sum(f_pos: Tensor, f_neg: Tensor, surrogate: AnySurrogateName) -> Tensor:
    """The same for any surrogate in O(n₊ n₋), without ever holding the table of pairs."""
    total: Tensor = _BlockSum.apply(f_pos, f_neg, SURROGATES[surrogate])
    return total


class _BlockSum(torch.autograd.Function):
    """The forward pass computes the gradient, too, while a block of pairs is at hand."""

    @staticmethod
    def forward(ctx: Any, f_pos: Tensor, f_neg: Tensor, surrogate: Surrogate) -> Tensor:
        sums, grad_pos, grad_neg = torch.empty_like(f_pos), torch.empty_like(f_pos), torch.zeros_like(f_neg)
        for rows in row_blocks(f_pos, f_neg):
            gaps = f_pos[rows, None] - f_neg
            sums[rows] = surrogate.value(gaps).sum(dim=1)
            slopes = surrogate.derivative(gaps)
            grad_pos[rows] = slopes.sum(dim=1)
            grad_neg -= slopes.sum(dim=0)
        ctx.save_for_backward(grad_pos, grad_neg)
        return sums.sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        grad_pos, grad_neg = ctx.saved_tensors
        return grad * grad_pos, grad * grad_neg, None


# ---------------------------------------------------------------------------------------- squared: moments


def _squared_sum(f_pos: Tensor, f_neg: Tensor) -> Tensor:
    """(1 − f⁺ + f⁻)² = t² + 2 t f⁻ + (f⁻)² with t = 1 − f⁺; for scores in [0, 1] no term is negative."""
    t = 1 - f_pos
    mean = (t * t).mean() + 2 * t.mean() * f_neg.mean() + (f_neg * f_neg).mean()
    return mean * (len(f_pos) * len(f_neg))


# ---------------------------------------------------------------------------------------- hinges: sorting


class _SortedSum(torch.autograd.Function):
    """The sum of (f⁻ − x)₊ or of its square over all pairs, x being f⁺ − 1: only pairs with f⁻ > x count.

    Value and gradient come from the same sorted list, so the forward pass computes both.
    """

    @staticmethod
    def forward(ctx: Any, f_pos: Tensor, f_neg: Tensor, is_squared: bool) -> Tensor:
        # Among equal values f⁻ comes first: it is not above x, and the derivative at the kink is 0.
        merged = torch.cat([f_neg, f_pos - 1])
        order = _stable_order(merged)
        value = merged.to(_widest(merged)).index_select(0, order)
        value = value - value[len(value) // 2]  # sums of smaller numbers lose fewer digits
        is_neg = order < len(f_neg)
        neg = torch.where(is_neg, value, 0)
        count, total = is_neg.cumsum(0, dtype=value.dtype), neg.cumsum(0)
        neg_above, neg_sum_above = count[-1] - count, total[-1] - total
        pos_below = torch.arange(1, len(value) + 1, device=value.device, dtype=value.dtype) - count
        losses = neg_sum_above - value * neg_above
        slopes = torch.where(is_neg, pos_below, neg_above)
        if is_squared:
            squares = (neg * neg).cumsum(0)
            pos_sum_below = value.cumsum(0) - total
            slopes = 2 * torch.where(is_neg, value * pos_below - pos_sum_below, losses)
            losses = squares[-1] - squares - value * (neg_sum_above + losses)
        gradient = torch.empty_like(merged).index_copy_(0, order, slopes.to(merged.dtype))
        ctx.save_for_backward(gradient)
        ctx.n_neg = len(f_neg)
        return torch.where(is_neg, 0, losses).sum().clamp(min=0).to(merged.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return -grad * gradient[ctx.n_neg :], grad * gradient[: ctx.n_neg], None


def _stable_order(values: Tensor) -> Tensor:
    """The indices that sort ``values``; equal ones keep their order.

    On a CPU torch sorts integers by radix, ten times as fast as floating-point numbers. With the digits of negative
    numbers inverted, the bits of floating-point numbers order like integers.
    """
    integer = {torch.float32: torch.int32, torch.float64: torch.int64}.get(values.dtype)
    if values.device.type != "cpu" or integer is None:
        return values.sort(stable=True).indices
    bits = (values + 0.0).view(integer)  # -0.0 becomes 0.0, which it equals
    return torch.where(bits < 0, bits ^ torch.iinfo(integer).max, bits).sort(stable=True).indices


def _widest(values: Tensor) -> torch.dtype:
    """The type for cumulative sums: float64, unless the device has none."""
    return values.dtype if values.device.type == "mps" else torch.float64


_FAST: dict[AnySurrogateName, Callable[[Tensor, Tensor], Tensor]] = {
    "squared": _squared_sum,
    "squared_hinge": lambda f_pos, f_neg: _SortedSum.apply(f_pos, f_neg, True),
    "hinge": lambda f_pos, f_neg: _SortedSum.apply(f_pos, f_neg, False),
}
