"""MB as a method: a hand-computed step, one-way and two-way."""

from __future__ import annotations

from pathlib import Path

import pytest
from methods.four_samples import step_along, step_of, train
from methods.gaussian import REGIONS, Study

from pauc_lightning.methods import MB
from pauc_lightning.region import Region


def test_one_way_step(tmp_path: Path) -> None:
    """β = .5 keeps the negative .3: 1 − f⁺ + f⁻ is .7 and .5, the losses .49 and .25."""
    module = train(MB, tmp_path, max_fpr=0.5)
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(0.74 / 2)
    assert step_of(module) == pytest.approx(step_along(-0.7, -0.5, 0, 1.2), rel=1e-5)


def test_two_way_step(tmp_path: Path) -> None:
    """α = .5 keeps the positive .6 only."""
    module = train(MB, tmp_path, max_fpr=0.5, min_tpr=0.5)
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(0.49)
    assert step_of(module) == pytest.approx(step_along(-1.4, 0, 0, 1.4), rel=1e-5)


def test_the_surrogate_is_passed_on(tmp_path: Path) -> None:
    module = train(MB, tmp_path, max_fpr=0.5, surrogate="logistic")
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx((0.554355 + 0.474077) / 2)


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
def test_beats_cross_entropy_in_its_region(region: Region, study: Study) -> None:
    study.check_gain(MB, region, learning_rate=0.2)
