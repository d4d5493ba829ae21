"""AUC-exp as a method: a hand-computed step, one-way and two-way, and what it gains."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from methods.four_samples import step_along, step_of, train
from methods.gaussian import REGIONS, Study

from pauc_lightning.methods import AUCExp
from pauc_lightning.region import Region

GAMMA = 10 * math.log(2)  # φ(t) = 1 − 2^(−10t), so φ(.2) = 3/4, φ(.3) = 7/8, φ(.4) = 15/16


def test_one_way_step(tmp_path: Path) -> None:
    """The negatives .2 and .3 weigh 3/4 and 7/8; t = 1 − f⁺ + f⁻ is .6, .7, .4, .5."""
    module = train(AUCExp, tmp_path, gamma=GAMMA, unweighted_epochs=0)
    loss = (0.75 * (0.36 + 0.16) + 0.875 * (0.49 + 0.25)) / 4
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(loss, rel=1e-5)
    # of a positive −2 Σ φ t / 4, of a negative Σ (φ' t² + 2 φ t) / 4 with φ' = γ (1 − φ)
    slopes = (
        -2 * (0.75 * 0.6 + 0.875 * 0.7) / 4,
        -2 * (0.75 * 0.4 + 0.875 * 0.5) / 4,
        (GAMMA / 4 * 0.52 + 2 * 0.75 * 1.0) / 4,
        (GAMMA / 8 * 0.74 + 2 * 0.875 * 1.2) / 4,
    )
    assert step_of(module) == pytest.approx(step_along(*slopes), rel=1e-5)


def test_two_way_loss(tmp_path: Path) -> None:
    """The positives .6 and .8 weigh 15/16 and 3/4 as well."""
    module = train(AUCExp, tmp_path, gamma=GAMMA, unweighted_epochs=0, min_tpr=0.5)
    of_first, of_second = 0.75 * 0.36 + 0.875 * 0.49, 0.75 * 0.16 + 0.875 * 0.25
    loss = (0.9375 * of_first + 0.75 * of_second) / 4
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
def test_beats_cross_entropy_in_its_region(region: Region, study: Study) -> None:
    study.check_gain(AUCExp, region, learning_rate=0.5, unweighted_epochs=2)
