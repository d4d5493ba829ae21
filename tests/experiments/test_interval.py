"""Intervals of gains, against computations of another kind."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pauc_lightning.experiments.interval import TEST_OVER_TRAIN, Interval, corrected_interval


def test_two_differences_by_hand() -> None:
    """With one degree of freedom, Student's t is Cauchy's distribution: its 0.975 quantile is tan(0.475 π)."""
    interval = corrected_interval([0.1, 0.3], test_over_train=0.25)
    assert interval is not None
    # mean 0.2; variance (0.1² + 0.1²) / 1 = 0.02; factor 1/2 + 1/4
    half = math.tan(0.475 * math.pi) * math.sqrt(0.75 * 0.02)
    assert (interval.low, interval.high) == pytest.approx((0.2 - half, 0.2 + half), rel=1e-12)


def test_many_differences_against_numpy_and_scipys_distribution() -> None:
    differences = np.random.default_rng(0).normal(0.05, 0.1, size=7)
    interval = corrected_interval(differences.tolist())
    assert interval is not None
    spread = differences.std(ddof=1) * np.sqrt(1 / 7 + 0.15 / 0.7)
    expected = stats.t(df=6, loc=differences.mean(), scale=spread).interval(0.95)
    assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-10)
    assert pytest.approx(0.15 / 0.7) == TEST_OVER_TRAIN


def test_without_overlap_it_is_the_ordinary_t_interval() -> None:
    differences = [0.02, 0.05, -0.01, 0.04]
    interval = corrected_interval(differences, test_over_train=0.0)
    assert interval is not None
    expected = stats.ttest_1samp(differences, 0.0).confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx(tuple(expected), rel=1e-10)


def test_it_covers_the_truth_as_often_as_it_says() -> None:
    """Differences whose correlation is the one that the correction assumes: n_test / (n_test + n_train)."""
    random = np.random.default_rng(1)
    ratio = 0.15 / 0.7
    correlation = ratio / (1 + ratio)
    covered = corrected = 0
    for _ in range(4000):
        shared, own = random.normal(size=1), random.normal(size=5)
        differences = (math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own).tolist()
        plain, wide = corrected_interval(differences, 0.0), corrected_interval(differences, ratio)
        assert plain is not None
        assert wide is not None
        covered += plain.side == 0
        corrected += wide.side == 0
    assert corrected / 4000 == pytest.approx(0.95, abs=0.012)  # 3.5 standard errors
    assert covered / 4000 < 0.90


def test_one_difference_has_no_interval() -> None:
    assert corrected_interval([0.1]) is None
    assert corrected_interval([]) is None


def test_equal_differences_have_no_interval_unless_they_are_zero() -> None:
    # By subtraction in single precision, whose last digits differ: 0.5 - 0.4 and 0.9 - 0.8.
    rounded = [float(np.float32(one)) - float(np.float32(other)) for one, other in ((0.5, 0.4), (0.9, 0.8))]
    assert rounded[0] != rounded[1]
    for equal in ([-0.074, -0.074, -0.074], rounded, [0.3 - 0.2, 0.2 - 0.1]):
        assert corrected_interval(equal) is None
    assert corrected_interval([0.0, 0.0, 0.0]) == Interval(0.0, 0.0)
    nearly = corrected_interval([-0.0740, -0.0741])
    assert nearly is not None
    assert nearly.low < nearly.high


def test_the_side_of_zero() -> None:
    assert [Interval(*ends).side for ends in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1), (0.0, 0.1))] == [
        1,
        -1,
        0,
        0,
    ]
