"""`pauc figure pull`: the pull on each negative, against derivatives written out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from figures.trained import check_files, run

from pauc_lightning.figures.fixed_scores import normal_scores
from pauc_lightning.figures.pull import losses_of, pull_on_negatives
from pauc_lightning.objectives import AGDSBCDLoss, Objective, SOPALoss, UPAUCILoss

SCORES, LABELS = normal_scores()
POSITIVES = SCORES[LABELS == 1].numpy()
NEGATIVES = np.sort(SCORES[LABELS == 0].numpy())[::-1]
INSIDE = np.arange(len(NEGATIVES)) < 0.3 * len(NEGATIVES)
SLOPE = NEGATIVES * (1 - NEGATIVES)


def pull(loss: Objective) -> np.ndarray:
    return pull_on_negatives(loss, SCORES, LABELS)


def squared_risk() -> np.ndarray:
    """Of (1 − f⁺ + f⁻)², averaged over all positives, by a negative's logit."""
    derivative: np.ndarray = 2 * (1 - POSITIVES.mean() + NEGATIVES) * SLOPE
    return derivative


BY_HAND = {
    "CE": NEGATIVES,
    "HardCE": NEGATIVES * INSIDE,
    "AUC-M": squared_risk(),
    "MB, SOPA, AGD-SBCD": squared_risk() * INSIDE,
    # φ = t: the derivative of f⁻ (1 − f⁺ + f⁻)² has a second term, with the mean of a square over the positives
    "AUC-poly": NEGATIVES * squared_risk()
    + SLOPE * (((1 - POSITIVES) ** 2).mean() + 2 * (1 - POSITIVES.mean()) * NEGATIVES + NEGATIVES**2),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_pull_is_the_derivative_by_the_logits(name: str) -> None:
    expected = BY_HAND[name] / BY_HAND[name].mean()
    np.testing.assert_allclose(pull(losses_of(0.3)[name]), expected, rtol=1e-4, atol=1e-6)


def test_sigmoid_surrogate_on_logits() -> None:
    """1/(1 + e^s) has the slope p(1 − p), here summed over all pairs of the region."""
    z_pos, z_neg = np.log(POSITIVES / (1 - POSITIVES)), np.log(NEGATIVES / (1 - NEGATIVES))
    p = 1 / (1 + np.exp(z_pos[:, None] - z_neg))
    expected = (p * (1 - p)).sum(0) * INSIDE
    np.testing.assert_allclose(pull(losses_of(0.3)["PartialAUC"]), expected / expected.mean(), rtol=1e-6)


@pytest.mark.parametrize(
    "loss", [SOPALoss(0.3, train_size=1), AGDSBCDLoss(0.3, train_size=1), UPAUCILoss(0.3, omega=1e-7)]
)
def test_exact_selection_is_the_same_by_every_route(loss: Objective) -> None:
    """SOPA and AGD-SBCD share MB's panel; UPAUCI with almost no penalty selects the same negatives."""
    expected = pull(losses_of(0.3)["MB, SOPA, AGD-SBCD"])
    edge = np.abs(np.arange(len(expected)) - 0.3 * len(expected)) < 2
    np.testing.assert_allclose(pull(loss)[~edge], expected[~edge], rtol=1e-2, atol=1e-6)


def test_soft_selections_count_the_whole_class() -> None:
    for name in ("PAUCI", "UPAUCI", "SOPA-S", "AUC-poly", "AUC-exp"):
        pulls = pull(losses_of(0.3)[name])
        assert (pulls > 0).all()
        assert pulls[INSIDE].mean() > 3 * pulls[~INSIDE].mean(), name


def test_saturated_scores_have_a_finite_pull() -> None:
    scores = torch.tensor([0.0, 0.4, 1.0, 0.0, 0.6, 1.0], dtype=torch.float64)
    labels = torch.tensor([0, 0, 0, 1, 1, 1])
    for name, loss in losses_of(0.5).items():
        assert np.isfinite(pull_on_negatives(loss, scores, labels)).all(), name


def test_files(tmp_path: Path, comparison: Path) -> None:
    (folder,) = comparison.glob("upauci-*-seed0/version_0")
    run("figure", "pull", folder, "--out", tmp_path, "--max_fpr", "0.2")
    rows = check_files(tmp_path, "pull")
    assert {row["loss"] for row in rows} == {*losses_of(0.2)}
    outside = [
        float(row["pull"])
        for row in rows
        if row["loss"] == "HardCE" and float(row["false_positive_rate"]) > 0.21
    ]
    assert outside
    assert not any(outside)
