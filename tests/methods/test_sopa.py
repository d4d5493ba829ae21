"""SOPA as a method: a hand-computed step, one-way and two-way, and the state it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from methods.four_samples import step_along, step_of, train
from methods.gaussian import REGIONS, Study

from pauc_lightning.methods import SOPA
from pauc_lightning.region import Region


def test_one_way_step(tmp_path: Path) -> None:
    """Thresholds 0: all pairs count, with losses .36, .49, .16, .25 over β = .5."""
    module = train(SOPA, tmp_path, max_fpr=0.5, threshold_lr=0.2)
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(1.26 / 4 / 0.5)
    assert step_of(module) == pytest.approx(step_along(-1.3, -0.9, 1.0, 1.2), rel=1e-5)
    # samples 3 and 1 are the positives; s ← 0 − .2 (1 − 1/.5)
    assert module.objective.state_dict()["s"].tolist() == pytest.approx([0, 0.2, 0, 0.2, 0])
    assert {k: float(v) for k, v in module.diagnostics().items()} == {"threshold": 0.0, "selected": 1.0}


def test_two_way_step(tmp_path: Path) -> None:
    """The losses exceed s = 0, so the weights y stay at their bound 1; all is divided by α = .5 once more."""
    module = train(
        SOPA, tmp_path, max_fpr=0.5, min_tpr=0.5, threshold_lr=0.2, outer_threshold_lr=0.3, dual_lr=0.1
    )
    assert step_of(module) == pytest.approx(step_along(-2.6, -1.8, 2.0, 2.4), rel=1e-5)
    state = module.objective.state_dict()
    assert state["s"].tolist() == pytest.approx([0, 0.4, 0, 0.4, 0])
    assert state["s_outer"].item() == pytest.approx(-0.3 * (1 - 1 / 0.5))
    assert state["y"].tolist() == [1, 1, 1, 1, 1]
    assert set(module.diagnostics()) == {"threshold", "selected", "outer_threshold", "dual_weight"}


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
def test_beats_cross_entropy_in_its_region(region: Region, study: Study) -> None:
    study.check_gain(SOPA, region, learning_rate=0.2)
