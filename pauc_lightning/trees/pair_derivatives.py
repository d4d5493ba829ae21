"""First and second derivatives of a weighted sum of pair losses, as fast as the surrogate allows.

The losses are those of :mod:`pauc_lightning.objectives.pair_sums`. Boosting also needs the diagonal of the Hessian, and
weights of the instances, so the sums are written out here.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import torch

from pauc_lightning.objectives.pairwise import row_blocks
from pauc_lightning.trees.shares import Floats

TreeSurrogate = Literal["logistic", "squared_hinge"]
"""The convex and smooth surrogates: a Newton step needs a curvature that is not negative."""


class PairDerivatives(NamedTuple):
    """The gradient and the diagonal of the Hessian, for the positives and for the negatives."""

    pos_gradient: Floats
    pos_hessian: Floats
    neg_gradient: Floats
    neg_hessian: Floats


def pair_derivatives(
    z_pos: Floats, z_neg: Floats, u: Floats, v: Floats, surrogate: TreeSurrogate
) -> PairDerivatives:
    """Differentiate the sum of u_i v_j ℓ(z_i − z_j) over all pairs of a positive i and a negative j.

    Args:
        z_pos: Scores of the positives, shape ``(n₊,)``.
        z_neg: Scores of the negatives, shape ``(n₋,)``.
        u: Weights of the positives, shape ``(n₊,)``.
        v: Weights of the negatives, shape ``(n₋,)``.
        surrogate: The loss ℓ of a pair: logistic, n₊ · n₋ operations and little memory; squared hinge, n log n.

    Example:
        >>> one = np.ones(1)
        >>> pair_derivatives(np.array([0.5]), np.array([0.0]), one, one, "squared_hinge")  # (1 − 0.5)²
        PairDerivatives(pos_gradient=array([-1.]), pos_hessian=array([2.]), neg_gradient=array([1.]), \
neg_hessian=array([2.]))
    """
    if surrogate == "logistic":
        return _logistic(z_pos, z_neg, u, v)
    return _squared_hinge(z_pos, z_neg, u, v)


def _logistic(z_pos: Floats, z_neg: Floats, u: Floats, v: Floats) -> PairDerivatives:
    """With p = 1/(1 + e^s), the first derivative is −p and the second p − p²: one sigmoid per pair."""
    pos, neg, u_t, v_t = (torch.from_numpy(np.ascontiguousarray(array)) for array in (z_pos, z_neg, u, v))
    pos_first, pos_second = torch.empty_like(pos), torch.empty_like(pos)
    neg_first, neg_second = torch.zeros_like(neg), torch.zeros_like(neg)
    for rows in row_blocks(pos, neg):
        p = (neg - pos[rows, None]).sigmoid_()
        pos_first[rows] = p @ v_t
        neg_first += u_t[rows] @ p
        p.addcmul_(p, p, value=-1)
        pos_second[rows] = p @ v_t
        neg_second += u_t[rows] @ p
    return PairDerivatives(
        -u * pos_first.numpy(), u * pos_second.numpy(), v * neg_first.numpy(), v * neg_second.numpy()
    )


def _squared_hinge(z_pos: Floats, z_neg: Floats, u: Floats, v: Floats) -> PairDerivatives:
    """A pair counts if z_j > x_i = z_i − 1, with (z_j − x_i)²: after sorting, cumulative sums hold all of them."""
    middle = z_neg.mean()  # sums of smaller numbers lose fewer digits
    x, z = z_pos - 1 - middle, z_neg - middle
    pos_order, neg_order = np.argsort(x), np.argsort(z)
    # Of each positive: the weight of the negatives above x, and their weighted sum.
    first_above = np.searchsorted(z, x, side="right", sorter=neg_order)
    v_above = _from_the_right(v[neg_order])[first_above]
    vz_above = _from_the_right((v * z)[neg_order])[first_above]
    # Of each negative: the same of the positives whose x is below it.
    n_below = np.searchsorted(x, z, side="left", sorter=pos_order)
    u_below = _from_the_left(u[pos_order])[n_below]
    ux_below = _from_the_left((u * x)[pos_order])[n_below]
    return PairDerivatives(
        -2 * u * (vz_above - x * v_above), 2 * u * v_above, 2 * v * (z * u_below - ux_below), 2 * v * u_below
    )


def _from_the_left(values: Floats) -> Floats:
    """Entry k is the sum of the first k values."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _from_the_right(values: Floats) -> Floats:
    """Entry k is the sum of all values but the first k."""
    return _from_the_left(values[::-1])[::-1]
