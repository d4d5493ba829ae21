"""UPAUCI as a method: a hand-computed step, with weights in closed form and stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from methods.four_samples import step_along, step_of, train
from methods.test_pauci import ETA, PLAIN

from pauc_lightning.methods import UPAUCI

SLOPES = (-1.4, -1.2, 0.44 * 2.4, 0.69 * 2.6)
"""N is .44 and .69, and with ω = .5 and s' = 0 so is c; β = .5, so the negatives' slopes are c · 2(f + 1)."""


def test_step_with_weights_in_closed_form(tmp_path: Path) -> None:
    module = train(UPAUCI, tmp_path, **PLAIN)
    assert step_of(module) == pytest.approx(ETA * step_along(*SLOPES), rel=1e-4)


def test_loss(tmp_path: Path) -> None:
    """r = c·x − ωc² = N²/2."""
    module = train(UPAUCI, tmp_path, **{**PLAIN, "max_epochs": 1})
    loss = (-1.04 - 1.56) / 2 + (0.44**2 + 0.69**2) / 4 / 0.5
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(loss, rel=1e-5)


def test_stored_weights(tmp_path: Path) -> None:
    """From 1, a step of size 1/(2ω) goes to the inner maximum; the samples 0 and 2 are the negatives."""
    module = train(UPAUCI, tmp_path, weights="ascent", **{**PLAIN, "max_epochs": 1})
    assert module.objective.state_dict()["c"].tolist() == pytest.approx([0.44, 1, 0.69, 1, 1])
    assert step_of(train(UPAUCI, tmp_path, weights="ascent", **PLAIN)) == pytest.approx(
        ETA * step_along(*SLOPES), rel=1e-4
    )
