"""PAUCI as a method: a hand-computed step, one-way and two-way."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from methods.four_samples import step_along, step_of, train

from pauc_lightning.methods import PAUCI

PLAIN: dict[str, Any] = {
    "closed_form_start": False,  # a = 1, b = 0, γ = 0, s' = 0, s = −2
    "gradient_clip_norm": None,
    "schedule": "constant",
    "descent_lr": 1.0,
    "max_fpr": 0.5,
    "max_epochs": 2,  # ASGDA's first move is zero
}
ETA = 2 / 11 ** (1 / 3)
"""The mixing weight of the second step, k / (m + 1)^(1/3)."""


def softplus(x: float) -> float:
    return math.log(1 + math.exp(2 * x)) / 2


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-2 * x))


def test_one_way_step(tmp_path: Path) -> None:
    """P is −1.04 and −1.56, N is .44 and .69; κ = 2 and β = .5, so the negatives' slopes are r'(N) · 2(f + 1)."""
    module = train(PAUCI, tmp_path, **{**PLAIN, "max_epochs": 1})
    loss = (-1.04 - 1.56) / 2 + (softplus(0.44) + softplus(0.69)) / 2 / 0.5
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(loss, rel=1e-5)
    slopes = (-1.4, -1.2, sigmoid(0.44) * 2.4, sigmoid(0.69) * 2.6)
    assert step_of(train(PAUCI, tmp_path, **PLAIN)) == pytest.approx(ETA * step_along(*slopes), rel=1e-4)


def test_two_way_step(tmp_path: Path) -> None:
    """P − s is .96 and .44; α = .5, so the positives' slopes are r'(P − s) · 2(f − 2)."""
    module = train(PAUCI, tmp_path, min_tpr=0.5, **PLAIN)
    slopes = (-2.8 * sigmoid(0.96), -2.4 * sigmoid(0.44), sigmoid(0.44) * 2.4, sigmoid(0.69) * 2.6)
    assert step_of(module) == pytest.approx(ETA * step_along(*slopes), rel=1e-4)
