"""AGD-SBCD as a method: hand-computed inner and outer steps, loops shared by objective and optimizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from methods.four_samples import STATE_SIZE, step_along, step_of, train
from methods.gaussian import ONE_WAY, Study
from torch import nn

from pauc_lightning import InputError
from pauc_lightning.methods import AGDSBCD

SETTINGS: dict[str, Any] = {"max_fpr": 0.5, "surrogate": "squared", "inner_lr": 1.0, "threshold_lr": 0.2}
GRADIENT = step_along(-0.65, -0.45, 0.5, 0.6)  # thresholds 0: the mean over all pairs


def test_inner_step(tmp_path: Path) -> None:
    """η' = μ' = 1 from v = w: v = w − G/2; learning_rate and momentum belong to the warm-up."""
    module = train(AGDSBCD, tmp_path, mu=1.0, first_loop=2, learning_rate=100.0, momentum=0.9, **SETTINGS)
    assert step_of(module) == pytest.approx(GRADIENT / 2, rel=1e-5)
    state = module.objective.state_dict()
    assert state["lambda_"].tolist() == pytest.approx([0, 0.1, 0, 0.1, 0])  # − .2 (.5 − 1)
    assert {name: float(value) for name, value in module.diagnostics().items()} == {
        "threshold": 0.0,
        "selected": 1.0,
        "outer_steps": 0.0,
    }


def test_outer_step(tmp_path: Path) -> None:
    """A loop of one iteration; γ' = μ'/2 goes half the way to its mean."""
    module = train(AGDSBCD, tmp_path, mu=1.0, gamma=0.5, first_loop=1, **SETTINGS)
    assert step_of(module) == pytest.approx(GRADIENT / 4, rel=1e-5)
    assert float(module.diagnostics()["outer_steps"]) == 1


def test_thresholds_step_less_in_the_second_loop(tmp_path: Path) -> None:
    """The optimizer advances the loops that the objective reads: .2 (1 − .5), then half of that."""
    module = train(AGDSBCD, tmp_path, first_loop=1, max_epochs=2, **{**SETTINGS, "inner_lr": 1e-9})
    assert module.objective.state_dict()["lambda_"].tolist() == pytest.approx([0, 0.15, 0, 0.15, 0])


def test_two_way_regions_are_refused() -> None:
    with pytest.raises(InputError, match=r"one-way regions only, got min_tpr=0\.5"):
        AGDSBCD(backbone=nn.Linear(1, 1), train_size=STATE_SIZE, min_tpr=0.5)


def test_beats_cross_entropy_in_its_region(study: Study) -> None:
    study.check_gain(AGDSBCD, ONE_WAY, inner_lr=1.0, surrogate="squared")
