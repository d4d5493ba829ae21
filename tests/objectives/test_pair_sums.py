"""Fast sums over pairs: the same value and gradient as the table of pairs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from pauc_lightning.objectives.pair_sums import _stable_order, blockwise_sum, pair_sum
from pauc_lightning.objectives.surrogate import SURROGATES, AnySurrogateName

NAMES: list[AnySurrogateName] = [*SURROGATES]
IN_NUMPY = {
    "squared": lambda s: (1 - s) ** 2,
    "squared_hinge": lambda s: np.maximum(0, 1 - s) ** 2,
    "hinge": lambda s: np.maximum(0, 1 - s),
    "logistic": lambda s: np.log1p(np.exp(-s)),
    "exponential": lambda s: np.exp(-s),
    "sigmoid": lambda s: 1 / (1 + np.exp(s)),
}


def scores(
    n_pos: int, n_neg: int, dtype: torch.dtype = torch.float64, seed: int = 0
) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    f_pos, f_neg = (torch.randn(n, generator=generator, dtype=dtype) for n in (n_pos, n_neg))
    return (f_pos + 0.5).requires_grad_(), f_neg.requires_grad_()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n_pos", "n_neg"), [(1, 1), (7, 5), (60, 201)])
def test_value_is_the_sum_over_the_table(name: AnySurrogateName, n_pos: int, n_neg: int) -> None:
    f_pos, f_neg = scores(n_pos, n_neg)
    table = IN_NUMPY[name](f_pos.detach().numpy()[:, None] - f_neg.detach().numpy())
    assert pair_sum(f_pos, f_neg, name).item() == pytest.approx(table.sum(), rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_gradient(name: AnySurrogateName) -> None:
    assert torch.autograd.gradcheck(lambda p, n: pair_sum(p, n, name), scores(6, 9))


@pytest.mark.parametrize("name", ["squared", "squared_hinge", "hinge"])
@pytest.mark.parametrize("kind", ["random", "ties", "kinks", "huge"])
def test_the_fast_ones_equal_the_blocks(name: AnySurrogateName, kind: str) -> None:
    """Equal scores, gaps of exactly 1 (where a hinge has no derivative), and logits of ±10⁴ with one close pair."""
    f_pos, f_neg = (f.detach() for f in scores(40, 50))
    if kind == "ties":
        f_pos, f_neg = f_pos.round(), (2 * f_neg).round() / 2
    if kind == "kinks":
        f_pos = (8 * f_pos).round() / 8
        f_neg[:40] = f_pos - 1
    if kind == "huge":
        f_pos, f_neg = 1e4 * f_pos, 1e4 * f_neg
        f_neg[0] = f_pos[0] - 0.5
    values, gradients = [], []
    for total in (pair_sum, blockwise_sum):
        leaves = [f.clone().requires_grad_() for f in (f_pos, f_neg)]
        value = total(leaves[0], leaves[1], name)
        values.append(value.detach())
        gradients.append(torch.autograd.grad(value, leaves))
    torch.testing.assert_close(values[0], values[1], rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["squared", "squared_hinge", "hinge"])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_float32_is_as_good_as_float64(name: AnySurrogateName, offset: float) -> None:
    """50 000 pairs of nearly separated classes, far from zero: sums of squares would cancel in float32."""
    offset = 0.0 if name == "squared" else offset
    f_pos, f_neg = (f.detach() + offset for f in scores(500, 100, torch.float32))
    f_pos = (f_pos + 3).clamp(min=offset)
    if name == "squared":
        f_pos, f_neg = f_pos.sigmoid(), f_neg.sigmoid()
    exact = pair_sum(f_pos.double(), f_neg.double(), name)
    assert pair_sum(f_pos, f_neg, name).item() == pytest.approx(exact.item(), rel=1e-5)


def test_no_pairs() -> None:
    for f_pos, f_neg in (scores(0, 3), scores(3, 0)):
        for name in NAMES:
            total = pair_sum(f_pos, f_neg, name)
            assert total.item() == 0
            gradients = torch.autograd.grad(total, (f_pos, f_neg))
            assert all(not gradient.any() for gradient in gradients)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_order_is_that_of_a_stable_sort(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(1000, generator=generator, dtype=dtype)
    special = torch.tensor([0.0, -0.0, 0.0, 3e38, -3e38, 1e-45, -1e-45, 1.0, -1.0, 1.0], dtype=dtype)
    values = torch.cat([values, special, (3 * values).round()])
    assert torch.equal(_stable_order(values), values.sort(stable=True).indices)
