from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pauc_lightning import InputError, Region
from pauc_lightning.region import select_count


@given(n=st.integers(0, 10**7), percent=st.integers(0, 1000))
def test_count_is_the_floor_of_the_decimal_fraction(n: int, percent: int) -> None:
    exact = math.floor(n * Fraction(percent, 1000))
    assert select_count(n, percent / 1000) == exact
    assert select_count(n, 1 - (1000 - percent) / 1000) == exact  # the float that 1 - min_tpr gives


@given(n=st.integers(1, 10**6), part=st.integers(1, 10**6))
def test_count_recovers_whole_shares(n: int, part: int) -> None:
    k = min(part, n)
    assert select_count(n, k / n) == k


def test_paper_letters() -> None:
    region = Region(max_fpr=0.3, min_tpr=0.7)
    assert region.beta == 0.3
    assert region.alpha == pytest.approx(0.3)
    assert region.size == pytest.approx(0.09)
    assert region.counts(n_pos=10, n_neg=10) == (3, 0, 3)
    assert Region(max_fpr=0.5, min_fpr=0.2).counts(10, 10) == (10, 2, 5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"max_fpr": 1.5}, "`max_fpr` is a rate in [0, 1], got 1.5"),
        ({"max_fpr": 30}, "write max_fpr=0.3"),
        ({"min_tpr": -0.1}, "`min_tpr`"),
        ({"max_fpr": float("nan")}, "`max_fpr`"),
        ({"max_fpr": "0.3"}, "got '0.3'"),
        ({"max_fpr": 0.2, "min_fpr": 0.2}, "the region is empty"),
        ({"max_fpr": 0.0}, "the region is empty"),
        ({"min_tpr": 1.0}, "its (0.3, 0.3) is min_tpr=0.7"),
    ],
)
def test_bad_rates_are_named(arguments: dict[str, float], said: str) -> None:
    with pytest.raises(InputError) as caught:
        Region(**arguments)
    assert said in str(caught.value)


def test_names_are_distinct_and_stable() -> None:
    regions = [
        Region(),
        Region(0.3),
        Region(0.3, 0.7),
        Region(0.5, min_fpr=0.1),
        Region(0.5, 0.5, 0.1),
    ]
    assert [region.name for region in regions] == [
        "auc",
        "opauc_fpr0.3",
        "tpauc_fpr0.3_tpr0.7",
        "opauc_fpr0.1-0.5",
        "tpauc_fpr0.1-0.5_tpr0.5",
    ]
