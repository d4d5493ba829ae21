from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
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
        ({"max_fpr": float("nan")}, "`max_fpr` is a rate in [0, 1], got nan, the result of"),
        ({"min_tpr": float("nan")}, "write a number, as in min_tpr=0.3"),
        ({"max_fpr": float("inf")}, "got inf"),
        ({"max_fpr": "0.3"}, "got '0.3', which is no number: for 30 % write max_fpr=0.3"),
        ({"max_fpr": None}, "got None, which is no number"),
        ({"max_fpr": True}, "got True, which is no number"),
        ({"min_fpr": 0.3 + 0j}, "`min_fpr` is a rate in [0, 1], got (0.3+0j)"),
        ({"max_fpr": 0.2, "min_fpr": 0.2}, "the region is empty"),
        ({"max_fpr": 0.0}, "the region is empty"),
        ({"min_tpr": 1.0}, "its (0.3, 0.3) is min_tpr=0.7"),
    ],
)
def test_bad_rates_are_named(arguments: dict[str, float], said: str) -> None:
    with pytest.raises(InputError) as caught:
        Region(**arguments)
    assert said in str(caught.value)


def names(region: Region) -> tuple[str, str, str]:
    """Its key, that of the logged metrics (which have no dots), and its title."""
    return region.name, region.name.replace(".", "_"), region.title


@given(
    st.lists(
        st.tuples(*[st.sampled_from([0.05, 0.1, 0.1234567, 0.12345678, 1e-5]) | st.floats(1e-12, 0.4)] * 3),
        min_size=2,
        max_size=6,
    )
)
def test_no_two_regions_share_a_name(rates: list[tuple[float, float, float]]) -> None:
    regions = {
        region
        for max_fpr, min_tpr, band in rates
        for region in (
            *(Region(max_fpr), Region(max_fpr, min_tpr), Region(math.nextafter(max_fpr, 1))),
            *(Region(1 - band, min_fpr=max_fpr), Region(1 - band, min_tpr, max_fpr), Region(1 - band)),
        )
    }
    for shared in zip(*map(names, regions), strict=True):
        assert len(set(shared)) == len(regions)


def test_names_tell_close_fractions_apart() -> None:
    assert Region(0.05).name == "opauc_fpr0.05"
    assert Region(0.1).name == "opauc_fpr0.1"
    assert Region(0.1234567).name == "opauc_fpr0.1234567"
    assert Region(0.12345678, 0.9999999).name == "tpauc_fpr0.12345678_tpr0.9999999"
    assert Region(0.9999999).title == "OPAUC (FPR ≤ 0.9999999)"
    assert Region(1.0, 0.5).name == Region(1, 0.5).name == "tpauc_fpr1_tpr0.5"
    assert Region(1e-5).name == "opauc_fpr1e-05"


def test_numbers_of_numpy_are_plain_rates() -> None:
    region = Region(np.float64(0.3), np.float32(0.5), np.int64(0))
    assert region == Region(0.3, 0.5)
    assert region.name == "tpauc_fpr0.3_tpr0.5"
    assert [type(rate) for rate in (region.max_fpr, region.min_tpr, region.min_fpr)] == [float] * 3
    assert str(Region(0.3, -0.0)) == str(Region(0.3))


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
