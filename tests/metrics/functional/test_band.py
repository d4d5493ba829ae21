"""The confidence band of a ROC curve against scikit-learn, a brute-force bootstrap, Wilson's formula and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.metrics import roc_curve

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import RocCurve, roc_band


def normal_scores(
    rng: np.random.Generator, n_pos: int, n_neg: int, shift: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    is_positive = np.arange(n_pos + n_neg) < n_pos
    return rng.normal(size=n_pos + n_neg) + shift * is_positive, is_positive


@pytest.mark.parametrize("decimals", [0, 1, 8], ids=["many ties", "some ties", "no ties"])
def test_the_curve_in_the_band_is_scikit_learns(decimals: int) -> None:
    scores, is_positive = normal_scores(np.random.default_rng(1), 60, 300, 1.5)
    scores = scores.round(decimals)
    rates = np.linspace(0.0, 1.0, 37)
    band = roc_band(scores, is_positive, rates, n_resamples=100)
    fpr, tpr, _ = roc_curve(is_positive, scores, drop_intermediate=False)
    np.testing.assert_allclose(band.tpr, np.interp(rates, fpr, tpr), atol=1e-12)
    np.testing.assert_allclose(band.tpr, RocCurve.from_scores(scores, is_positive).tpr_at(rates), atol=1e-12)


def test_the_intervals_are_wilsons_with_the_variance_of_a_bootstrap_by_hand() -> None:
    rng = np.random.default_rng(2)
    scores, is_positive = normal_scores(rng, 80, 400, 1.5)
    rates = np.array([0.05, 0.1, 0.3])
    positives, negatives = scores[is_positive], scores[~is_positive]
    draws = []
    for _ in range(1500):  # resorts real resamples, which the implementation does not
        x, y = rng.choice(positives, 80), rng.choice(negatives, 400)
        labels = np.repeat([1, 0], [80, 400])
        fpr, tpr, _ = roc_curve(labels, np.concatenate([x, y]), drop_intermediate=False)
        draws.append(np.interp(rates, fpr, tpr))
    share = RocCurve.from_scores(scores, is_positive).tpr_at(rates)
    inside = (share * 80 + 0.5) / 81
    n = np.minimum(80, inside * (1 - inside) / np.var(draws, axis=0, ddof=1))
    z = norm.ppf(0.95)
    roots = [np.roots([1 + z**2 / m, -(2 * p + z**2 / m), p**2]) for p, m in zip(share, n, strict=True)]
    band = roc_band(scores, is_positive, rates, confidence=0.9, n_resamples=2000)
    # Wilson's ends solve (p - x)² = z² x(1 - x)/n, a quadratic equation.
    np.testing.assert_allclose(band.low, [min(ends) for ends in roots], atol=0.015)
    np.testing.assert_allclose(band.high, [max(ends) for ends in roots], atol=0.015)


@pytest.mark.parametrize(("n_pos", "n_neg", "shift"), [(50, 500, 1.5), (50, 500, 3.0), (500, 5000, 2.0)])
def test_each_interval_covers_the_true_rate_as_often_as_it_says(n_pos: int, n_neg: int, shift: float) -> None:
    rates = np.array([0.01, 0.05, 0.1, 0.3, 0.6])
    truth = norm.sf(norm.isf(rates) - shift)
    rng = np.random.default_rng(3)
    covered = []
    for repeat in range(200):
        scores, is_positive = normal_scores(rng, n_pos, n_neg, shift)
        band = roc_band(scores, is_positive, rates, n_resamples=200, seed=repeat)
        covered.append((band.low <= truth) & (truth <= band.high))
    share = np.mean(covered, axis=0)
    # Three standard errors of 200 repeats are 0.046. Percentiles of the resamples would cover 0.1 of some of these.
    assert (share >= 0.90).all(), share


def test_where_no_negative_bounds_the_curve_the_lower_end_is_zero() -> None:
    scores, is_positive = normal_scores(np.random.default_rng(4), 50, 100, 3.0)
    band = roc_band(scores, is_positive, [0.0, 0.01, 0.02, 0.03, 0.1])
    assert band.low[:3].tolist() == [0.0, 0.0, 0.0]
    assert (band.low[3:] > 0.3).all()
    assert (band.high[:3] == band.high[3]).all()


def test_the_band_contains_the_curve_and_ends_in_the_corner() -> None:
    scores, is_positive = normal_scores(np.random.default_rng(5), 30, 200, 1.0)
    band = roc_band(scores, is_positive)
    assert len(band.fpr) == 201
    assert (band.low <= band.tpr).all()
    assert (band.tpr <= band.high).all()
    assert (band.low[-1], band.tpr[-1], band.high[-1]) == (1.0, 1.0, 1.0)


def test_perfect_scores_still_have_an_interval() -> None:
    band = roc_band([0.9] * 20 + [0.1] * 100, [1] * 20 + [0] * 100, [0.1])
    assert band.tpr.tolist() == band.high.tolist() == [1.0]
    assert 0.8 < band.low[0] < 0.9  # Wilson's for 20 of 20 is 0.839


def test_the_seed_decides_the_resamples() -> None:
    scores, is_positive = normal_scores(np.random.default_rng(6), 30, 200, 1.0)
    first, again, other = (roc_band(scores, is_positive, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.low, again.low)
    assert not np.array_equal(first.low, other.low)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"fpr": [0.1, 1.5]}, "`fpr` must be ascending rates"),
        ({"fpr": [0.2, 0.1]}, "`fpr` must be ascending rates"),
        ({"fpr": [float("nan")]}, "`fpr` must be ascending rates"),
        ({"confidence": 95}, "`confidence` must be"),
        ({"n_resamples": 10}, "`n_resamples` must be"),
        ({"target": [0, 0, 0, 1]}, "at least two samples of each class"),
        ({"preds": [0.1, float("nan"), 0.2, 0.3]}, "NaN"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], words: str) -> None:
    given: dict[str, object] = {"preds": [0.1, 0.2, 0.3, 0.4], "target": [0, 1, 0, 1], **arguments}
    with pytest.raises(InputError, match=words):
        roc_band(**given)  # type: ignore[arg-type]
