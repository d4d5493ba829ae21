"""`pauc figure quantile`: the share that is selected, against thresholds found by another solver."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from figures.trained import check_files, read, run
from scipy.optimize import brentq

from pauc_lightning.figures.fixed_scores import normal_scores
from pauc_lightning.figures.quantile import selected_share
from pauc_lightning.objectives import PAUCILoss, UPAUCILoss
from pauc_lightning.objectives.saddle_point import saddle_point


@pytest.fixture(autouse=True)
def _no_warnings() -> None:
    warnings.simplefilter("ignore")


@pytest.mark.parametrize("kappa", [1.0, 4.0, 32.0])
def test_the_share_of_pauci_at_its_own_threshold(kappa: float) -> None:
    scores, labels = normal_scores()
    share, lowest = selected_share(PAUCILoss(0.3, kappa=kappa), scores, labels)
    point = saddle_point(PAUCILoss(0.3, kappa=kappa), scores, labels)
    f = scores[labels == 0].numpy()
    losses = (f - point["b"]) ** 2 + 2 * (1 + point["gamma"]) * f
    # The derivative of s + mean(softplus(N - s))/beta by s vanishes where the mean weight is beta.
    threshold = brentq(lambda s: (1 / (1 + np.exp(-kappa * (losses - s)))).mean() - 0.3, -5, 5)
    assert share == pytest.approx((losses > threshold).mean(), abs=1e-3)
    assert (f >= lowest).mean() == pytest.approx(share)


def test_exact_selection_selects_what_is_meant() -> None:
    scores, labels = normal_scores()
    for rate in (0.1, 0.3, 0.5):
        assert selected_share(UPAUCILoss(rate, omega=0.0), scores, labels)[0] == pytest.approx(rate, abs=1e-3)
        assert selected_share(PAUCILoss(rate, kappa=1e4), scores, labels)[0] == pytest.approx(rate, abs=1e-3)
    soft = [selected_share(PAUCILoss(0.3, kappa=kappa), scores, labels)[0] for kappa in (2.0, 6.0, 64.0)]
    assert soft == sorted(soft)  # in a falling density too few are selected, and fewer the softer
    assert selected_share(UPAUCILoss(0.3, omega=0.1), scores, labels)[0] > 0.35  # here too many


def test_of_a_run(comparison: Path, tmp_path: Path) -> None:
    (folder,) = comparison.glob("upauci-*-seed0/version_0")
    run("figure", "quantile", folder, "--out", tmp_path, "--rates", "0.2", "--shown", "0.2")
    rows = check_files(tmp_path, "quantile")
    assert {(row["method"], row["max_fpr"]) for row in rows} == {("pauci", "0.2"), ("upauci", "0.2")}
    sharpest = max((row for row in rows if row["method"] == "pauci"), key=lambda row: float(row["value"]))
    assert float(sharpest["selected_share"]) == pytest.approx(0.2, abs=0.05)
    assert all(0 <= float(row["selected_share"]) <= 1 for row in read(tmp_path / "quantile.csv"))


def test_even_ranks_ofnormal_scores() -> None:
    scores, labels = normal_scores()
    logits = torch.logit(scores[labels == 0])
    assert float(logits.mean()) == pytest.approx(-2, abs=1e-6)
    assert float(logits.std()) == pytest.approx(1.5, abs=0.01)
