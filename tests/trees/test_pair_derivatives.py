"""The fast sums against the table of all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pairs_by_force import CURVATURES, SLOPES

from pauc_lightning.objectives import pairwise
from pauc_lightning.trees.pair_derivatives import TreeSurrogate, pair_derivatives


@pytest.mark.parametrize("surrogate", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_against_all_pairs(
    surrogate: TreeSurrogate, has_ties: bool, shift: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairwise, "CPU_BLOCK_PAIRS", 100)  # several blocks
    random = np.random.default_rng(0)
    z_pos, z_neg = random.normal(1, 2, 23), random.normal(0, 2, 31)
    if has_ties:  # gaps of exactly 1, the squared hinge's kink, among them
        z_pos, z_neg = z_pos.round(), z_neg.round()
    u, v = random.random(23), random.random(31)
    gaps = z_pos[:, None] - z_neg
    slopes, curvatures = SLOPES[surrogate](gaps), CURVATURES[surrogate](gaps)
    found = pair_derivatives(z_pos + shift, z_neg + shift, u, v, surrogate)
    assert_allclose(found.pos_gradient, u * (slopes @ v), rtol=1e-9, atol=1e-9)
    assert_allclose(found.neg_gradient, -v * (u @ slopes), rtol=1e-9, atol=1e-9)
    assert_allclose(found.pos_hessian, u * (curvatures @ v), rtol=1e-9, atol=1e-9)
    assert_allclose(found.neg_hessian, v * (u @ curvatures), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("surrogate", ["logistic", "squared_hinge"])
def test_huge_gaps_stay_finite(surrogate: TreeSurrogate) -> None:
    one = np.ones(1)
    for gap in (-1e6, 1e6):
        found = pair_derivatives(np.array([gap]), np.array([0.0]), one, one, surrogate)
        assert all(np.isfinite(array).all() for array in found)
    assert found.pos_gradient.tolist() == [0]  # the order is right by far
