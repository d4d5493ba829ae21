"""The shares of a region: whole, in part, with ties and with weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs_by_force import greedy_shares

from pauc_lightning.region import Region
from pauc_lightning.trees.shares import negative_shares, positive_shares

SCORES = np.array([4.0, 3.0, 2.0, 1.0])


def ones(n: int) -> np.ndarray:
    return np.ones(n)


def test_the_highest_negatives_and_the_lowest_positives_are_inside() -> None:
    region = Region(max_fpr=0.25, min_tpr=0.5)
    assert negative_shares(SCORES, ones(4), region).tolist() == [1, 0, 0, 0]
    assert positive_shares(SCORES, ones(4), region).tolist() == [0, 0, 1, 1]


def test_the_last_one_is_inside_in_part() -> None:
    assert negative_shares(SCORES, ones(4), Region(max_fpr=0.375)).tolist() == [1, 0.5, 0, 0]
    assert positive_shares(SCORES, ones(4), Region(min_tpr=0.375)).tolist() == [0, 0.5, 1, 1]
    assert negative_shares(SCORES, ones(4), Region(max_fpr=0.1)).tolist() == pytest.approx([0.4, 0, 0, 0])


def test_a_band_leaves_the_highest_out() -> None:
    assert negative_shares(SCORES, ones(4), Region(max_fpr=0.75, min_fpr=0.25)).tolist() == [0, 1, 1, 0]


def test_the_whole_region_holds_everyone() -> None:
    assert negative_shares(SCORES, ones(4), Region()).tolist() == [1] * 4
    assert positive_shares(SCORES, ones(4), Region()).tolist() == [1] * 4


def test_ties_at_the_edge_share_alike_whatever_the_order_of_rows() -> None:
    scores = np.array([2.0, 3.0, 2.0, 1.0, 2.0])
    assert negative_shares(scores, ones(5), Region(max_fpr=0.4)).tolist() == pytest.approx(
        [1 / 3, 1, 1 / 3, 0, 1 / 3]
    )
    assert negative_shares(np.zeros(8), ones(8), Region(max_fpr=0.05)).tolist() == pytest.approx([0.05] * 8)


def test_a_whole_number_of_negatives_is_not_a_bit_more() -> None:
    """0.07 · 100 is 7.000000000000001 in floating point."""
    shares = negative_shares(np.arange(100.0), ones(100), Region(max_fpr=0.07))
    assert int((shares > 0).sum()) == 7


def test_rates_are_shares_of_weight() -> None:
    weights = np.array([1.0, 0.0, 6.0, 1.0])
    assert negative_shares(SCORES, weights, Region(max_fpr=0.5))[[0, 2, 3]].tolist() == [1, 0.5, 0]


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 4)), min_size=1, max_size=12),
    st.floats(0.01, 0.99),
)
def test_against_filling_up_one_by_one(rows: list[tuple[int, int]], rate: float) -> None:
    """Without regard to ties the shares differ within a tie only: sums over equal scores agree."""
    scores, weights = np.array(rows, dtype=np.float64).T
    expected = greedy_shares(np.argsort(-scores), weights, rate * weights.sum())
    found = negative_shares(scores, weights, Region(max_fpr=rate))
    assert ((found >= 0) & (found <= 1)).all()
    for value in np.unique(scores):
        tied = scores == value
        assert (weights * found)[tied].sum() == pytest.approx((weights * expected)[tied].sum(), abs=1e-9)
        assert np.ptp(found[tied]) == 0
