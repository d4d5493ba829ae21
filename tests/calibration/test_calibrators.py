"""Calibrators against other libraries, against their definitions, and against a truth that was simulated."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from pauc_lightning.calibration import (
    Calibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
)
from pauc_lightning.calibration.log_odds import log_odds, sigmoid
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import binary_partial_auc

Fit = Callable[..., Calibrator]
FITS: tuple[Fit, ...] = (PlattCalibrator.fit, TemperatureCalibrator.fit, IsotonicCalibrator.fit)


def logit(prior: float) -> float:
    return math.log(prior / (1 - prior))


def samples(n: int, prior: float, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """True log-odds of samples of two unit Gaussians at ±1, and their labels."""
    rng = np.random.default_rng(seed)
    is_positive = rng.random(n) < prior
    x = rng.normal(np.where(is_positive, 1.0, -1.0))
    return 2 * x + logit(prior), is_positive


def test_platt_is_scikit_learns_logistic_regression_on_platts_labels() -> None:
    truth, labels = samples(3000, 0.1)
    scores = sigmoid(0.3 * truth + 4)
    n_pos, n_neg = int(labels.sum()), int((~labels).sum())
    soft = np.where(labels, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
    z = log_odds(scores)
    twice = np.concatenate([z, z])[:, None]
    # Each sample once as a positive and once as a negative, with the soft label as its weight.
    peer = LogisticRegression(C=1e12, tol=1e-12, max_iter=10_000).fit(
        twice, np.repeat([1, 0], len(z)), sample_weight=np.concatenate([soft, 1 - soft])
    )
    found = PlattCalibrator.fit(scores, labels)
    assert found.slope == pytest.approx(peer.coef_[0, 0], rel=1e-5)
    assert found.intercept == pytest.approx(peer.intercept_[0], rel=1e-5)
    np.testing.assert_allclose(found(scores), peer.predict_proba(z[:, None])[:, 1], rtol=1e-4)


@pytest.mark.parametrize("batch_prior", [None, 0.5, 0.02])
def test_no_other_temperature_has_a_lower_cross_entropy(batch_prior: float | None) -> None:
    truth, labels = samples(2000, 0.1)
    scores = sigmoid(2.5 * truth + 1)
    n_pos, n_neg = int(labels.sum()), int((~labels).sum())
    soft = np.where(labels, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
    shift = 0.0 if batch_prior is None else logit(batch_prior) - logit(n_pos / 2000)

    def cross_entropy(log_temperature: float) -> float:
        z = log_odds(scores) / math.exp(log_temperature) - shift
        return float((soft * np.logaddexp(0, -z) + (1 - soft) * np.logaddexp(0, z)).mean())

    best = minimize_scalar(cross_entropy, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10})
    found = TemperatureCalibrator.fit(scores, labels, batch_prior)
    assert found.shift == pytest.approx(shift)
    assert found.temperature == pytest.approx(math.exp(best.x), rel=1e-5)


def test_isotonic_is_the_min_max_formula_and_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    labels = rng.random(60) < 0.4
    scores = np.clip(rng.normal(0.4 + 0.2 * labels, 0.2), 0, 1).round(1)  # with ties
    order = np.argsort(scores)
    x, y = scores[order], labels[order].astype(float)
    first = [int(np.searchsorted(x, v, "left")) for v in x]
    last = [int(np.searchsorted(x, v, "right")) for v in x]
    # The isotonic fit at i is max over j <= i of min over k >= i of the mean of y[j:k], where ties stay together.
    fit = [
        max(min(y[j:k].mean() for k in set(last) if k >= last[i]) for j in set(first) if j <= first[i])
        for i in range(len(x))
    ]
    found = IsotonicCalibrator.fit(scores, labels)
    np.testing.assert_allclose(found(x), np.clip(fit, 1 / 62, 61 / 62), atol=1e-12)

    grid = np.linspace(0, 1, 101)
    peer = IsotonicRegression(y_min=1 / 62, y_max=61 / 62, out_of_bounds="clip").fit(scores, labels)
    np.testing.assert_allclose(found(grid), peer.predict(grid), atol=1e-12)


def test_training_on_balanced_batches_is_undone() -> None:
    """A network that is right about batches with half positives, and twice too sure: all calibrators find the truth."""
    truth, labels = samples(400_000, 0.02)
    as_trained = sigmoid(2.0 * (truth + logit(0.5) - logit(labels.mean())))
    for calibrator in (
        PlattCalibrator.fit(as_trained, labels),
        TemperatureCalibrator.fit(as_trained, labels, batch_prior=0.5),
        IsotonicCalibrator.fit(as_trained, labels),
    ):
        probability = calibrator(as_trained)
        assert probability.mean() == pytest.approx(labels.mean(), rel=0.02)
        middle = np.abs(truth - logit(0.2)) < 0.2  # where the truth is a probability of about a fifth
        assert probability[middle].mean() == pytest.approx(sigmoid(truth[middle]).mean(), abs=0.02)

    found = TemperatureCalibrator.fit(as_trained, labels, batch_prior=0.5)
    assert found.temperature == pytest.approx(2.0, rel=0.02)
    # A temperature alone has no way to lower all log-odds: it is wrong by several times the prior.
    alone = TemperatureCalibrator.fit(as_trained, labels)
    assert alone(as_trained).mean() > 3 * labels.mean()


@pytest.mark.parametrize("fit", FITS)
def test_another_prior_is_bayes_rule(fit: Fit) -> None:
    truth, labels = samples(2000, 0.3)
    calibrator = fit(sigmoid(truth), labels)
    before, after = calibrator([0.2, 0.7]), calibrator([0.2, 0.7], prior=0.01)
    # The ratio of likelihoods p(x | 1) / p(x | 0) is a property of the sample, not of the prior.
    ratio = before / (1 - before) * (1 - labels.mean()) / labels.mean()
    np.testing.assert_allclose(after, ratio * 0.01 / (ratio * 0.01 + 0.99), rtol=1e-9)
    np.testing.assert_allclose(calibrator([0.2, 0.7], prior=float(labels.mean())), before, rtol=1e-12)


def test_the_deployment_prior_gives_calibrated_probabilities_there() -> None:
    _, labels = samples(200_000, 0.3, seed=1)
    rng = np.random.default_rng(2)
    scores = sigmoid(2 * rng.normal(np.where(labels, 1.0, -1.0)))
    calibrator = PlattCalibrator.fit(scores, labels)
    rare = rng.random(400_000) < 0.01
    new = sigmoid(2 * rng.normal(np.where(rare, 1.0, -1.0)))
    assert calibrator(new, prior=0.01).mean() == pytest.approx(rare.mean(), rel=0.05)
    assert calibrator(new).mean() > 5 * rare.mean()


@pytest.mark.parametrize("prior", [None, 0.001])
@pytest.mark.parametrize("fit", FITS[:2])
def test_the_ranking_stays(fit: Fit, prior: float | None) -> None:
    truth, labels = samples(5000, 0.1)
    scores = sigmoid(1.5 * truth - 2)
    probability = fit(scores, labels)(scores, prior=prior)
    assert np.array_equal(np.argsort(probability, kind="stable"), np.argsort(scores, kind="stable"))
    for max_fpr, min_tpr in ((0.01, 0.0), (0.3, 0.7)):
        before = binary_partial_auc(scores, labels, max_fpr, min_tpr)
        assert float(binary_partial_auc(probability, labels, max_fpr, min_tpr)) == float(before)


def test_isotonic_never_swaps_but_ties() -> None:
    truth, labels = samples(5000, 0.1)
    scores = np.sort(sigmoid(truth))
    probability = IsotonicCalibrator.fit(sigmoid(truth), labels)(scores)
    assert (np.diff(probability) >= 0).all()
    assert len(np.unique(probability)) < 0.5 * len(scores)


@pytest.mark.parametrize("fit", FITS)
def test_separated_classes_and_saturated_scores_stay_finite(fit: Fit) -> None:
    calibrator = fit([0.0, 0.1, 0.2, 0.8, 1.0], [0, 0, 0, 1, 1])
    probability = calibrator([0.0, 0.1, 0.5, 0.9, 1.0])
    assert np.isfinite(probability).all()
    assert (np.diff(probability) >= 0).all()
    assert 0 <= probability[0] < 0.5 < probability[-1] <= 1


def test_logits_that_hardly_differ_are_calibrated_as_well() -> None:
    """A loss of the partial AUC may leave all scores near one half."""
    truth, labels = samples(3000, 0.2)
    near = PlattCalibrator.fit(sigmoid(1e-5 * truth), labels)(sigmoid(1e-5 * truth))
    np.testing.assert_allclose(near, PlattCalibrator.fit(sigmoid(truth), labels)(sigmoid(truth)), rtol=1e-4)


@pytest.mark.parametrize("convert", [list, torch.from_numpy, lambda a: torch.from_numpy(a).view(-1, 1)])
def test_lists_tensors_and_any_shape(convert: object) -> None:
    truth, labels = samples(100, 0.3)
    expected = PlattCalibrator.fit(sigmoid(truth), labels)
    assert callable(convert)
    found = PlattCalibrator.fit(convert(sigmoid(truth)), convert(labels))
    assert found == expected
    assert found(convert(sigmoid(truth))).shape == np.shape(convert(sigmoid(truth)))


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    ("scores", "labels", "said"),
    [
        ([0.2, 1.2], [0, 1], r"`scores` must be in \[0, 1\], got 1.2"),
        ([-3.0, 0.2], [0, 1], r"got -3: apply the sigmoid"),
        ([0.2, math.nan], [0, 1], "must be finite"),
        ([0.2, 0.3], [0, 2], "must be 0 or 1"),
        ([0.2, 0.3], [1, 1], "both classes, got no negative among 2"),
        ([0.2, 0.3], [0, 1, 1], "same shape"),
        ([0.3, 0.3], [0, 1], "all equal"),
        ([0.9, 0.8, 0.3, 0.2], [0, 0, 1, 1], "not higher for positives"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(
    fit: Fit, scores: list[float], labels: list[int], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        fit(scores, labels)


def test_priors_out_of_range_are_refused() -> None:
    calibrator = PlattCalibrator.fit([0.1, 0.9], [0, 1])
    for prior in (0.0, 1.0, 5.0, math.nan):
        with pytest.raises(InputError, match="`prior` must be"):
            calibrator([0.5], prior=prior)
    with pytest.raises(InputError, match="`prior` must be"):
        TemperatureCalibrator.fit([0.1, 0.9], [0, 1], batch_prior=1.5)
