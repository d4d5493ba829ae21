"""Brier score and calibration error against scikit-learn, plain loops and hand-computed values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import brier_score, calibration_error, reliability_bins


def samples(n: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    probability = rng.beta(0.5, 3, n)
    return probability, rng.random(n) < probability


def test_brier_is_scikit_learns() -> None:
    probability, labels = samples(500)
    assert brier_score(probability, labels) == pytest.approx(brier_score_loss(labels, probability))
    assert brier_score(torch.from_numpy(probability), torch.from_numpy(labels)) == pytest.approx(
        brier_score_loss(labels, probability)
    )


@pytest.mark.parametrize(("binning", "strategy"), [("equal_width", "uniform"), ("equal_mass", "quantile")])
def test_bins_are_scikit_learns(binning: str, strategy: str) -> None:
    probability, labels = samples(1000)
    rate, mean = calibration_curve(labels, probability, n_bins=10, strategy=strategy)
    found = reliability_bins(probability, labels, bins=10, binning=binning)  # type: ignore[arg-type]
    np.testing.assert_allclose(found.rate, rate)
    np.testing.assert_allclose(found.probability, mean)
    assert found.samples.sum() == 1000


def test_equal_width_is_the_loop_over_bins() -> None:
    probability, labels = samples(777)
    error = 0.0
    for i in range(15):
        inside = (probability >= i / 15) & ((probability < (i + 1) / 15) | (i == 14))
        if inside.any():
            error += inside.mean() * abs(probability[inside].mean() - labels[inside].mean())
    assert calibration_error(probability, labels, binning="equal_width") == pytest.approx(error)


def test_equal_probabilities_are_in_one_bin_whatever_their_order() -> None:
    probability = np.array([0.0] * 70 + [0.5] * 20 + [1.0] * 10)
    labels = np.array([0] * 70 + [1] * 10 + [0] * 10 + [1] * 10)
    found = reliability_bins(probability, labels, bins=15)
    assert found.samples.tolist() == [70, 20, 10]
    assert calibration_error(probability, labels) == 0.0
    order = np.random.default_rng(0).permutation(100)
    assert calibration_error(probability[order], labels[order]) == 0.0
    assert calibration_error([1.0], [1]) == 0.0


def test_the_default_bins_see_what_equal_widths_hide_if_positives_are_rare() -> None:
    """All probabilities are below 1/15, so equal widths compare the means only; these agree by construction."""
    probability = np.repeat([0.0, 0.02], 5000)
    labels = np.zeros(10_000)
    labels[:100] = 1  # all positives are where the model says that there are none
    assert calibration_error(probability, labels, binning="equal_width") == pytest.approx(0.0)
    assert calibration_error(probability, labels) == pytest.approx(0.02)


def test_halving_divides_the_upper_half_again_and_again() -> None:
    probability = np.arange(1000) / 1000
    found = reliability_bins(probability, probability > 0.9, bins=15, binning="halving")
    assert found.samples.tolist() == [500, 250, 125, 63, 31, 31]
    assert found.rate[-2:].tolist() == [1.0, 1.0]
    few = reliability_bins(probability, probability > 0.9, bins=3, binning="halving")
    assert few.samples.tolist() == [500, 250, 250]
    assert reliability_bins([0.1, 0.2], [0, 1], binning="halving").samples.tolist() == [2]


def test_intervals_are_exact_binomial_ones() -> None:
    probability, labels = samples(200)
    labels[np.argsort(probability)[:20]] = False  # a bin without positives
    found = reliability_bins(probability, labels, bins=10, confidence=0.9)
    for rate, low, high, count in zip(found.rate, found.low, found.high, found.samples, strict=True):
        peer = binomtest(round(rate * count), count).proportion_ci(0.9, method="exact")
        assert (low, high) == pytest.approx((peer.low, peer.high))
    assert found.low[0] == 0
    assert found.high[0] == pytest.approx(1 - 0.05 ** (1 / 20))


@pytest.mark.parametrize(
    ("probability", "labels", "said"),
    [
        ([0.2, 1.5], [0, 1], r"`probabilities` must be in \[0, 1\], got 1.5"),
        ([0.2, -1.0], [0, 1], "got -1: apply the sigmoid"),
        ([0.2, math.nan], [0, 1], "finite"),
        ([0.2, 0.3], [0, 3], "0 or 1"),
        ([0.2], [0, 1], "same shape"),
        (np.empty(0), np.empty(0), "at least one value"),
    ],
)
def test_bad_samples_are_refused(probability: object, labels: object, said: str) -> None:
    for function in (brier_score, calibration_error, reliability_bins):
        with pytest.raises(InputError, match=said):
            function(probability, labels)  # type: ignore[arg-type]


def test_bad_options_are_refused() -> None:
    with pytest.raises(InputError, match="`bins` must be a whole number"):
        calibration_error([0.1, 0.2], [0, 1], bins=0)
    with pytest.raises(
        InputError, match="`binning` must be one of equal_mass, equal_width, halving, got 'quantile'"
    ):
        calibration_error([0.1, 0.2], [0, 1], binning="quantile")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`confidence`"):
        reliability_bins([0.1, 0.2], [0, 1], confidence=95)
