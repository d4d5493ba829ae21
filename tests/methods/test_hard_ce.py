"""HardCE as a method: a hand-computed step, and what the selection alone gains over cross-entropy."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from methods.four_samples import step_along, step_of, train
from methods.gaussian import REGIONS, Study

from pauc_lightning.methods import HardCE
from pauc_lightning.region import Region


def test_one_way_step(tmp_path: Path) -> None:
    """β = .5 keeps the negative .3; each class has weight ½. The slopes by the scores are −1/f and 1/(1 − f)."""
    module = train(HardCE, tmp_path, max_fpr=0.5)
    expected = -(math.log(0.6) + math.log(0.8)) / 4 - math.log(0.7) / 2
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(expected)
    slopes = (-1 / 0.6 / 4, -1 / 0.8 / 4, 0, 1 / 0.7 / 2)
    assert step_of(module) == pytest.approx(step_along(*slopes), rel=1e-5)


def test_two_way_step(tmp_path: Path) -> None:
    """α = .5 keeps the positive .6 only."""
    module = train(HardCE, tmp_path, max_fpr=0.5, min_tpr=0.5, memory=7.0)
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(
        -(math.log(0.6) + math.log(0.7)) / 2
    )
    assert step_of(module) == pytest.approx(step_along(-1 / 0.6 / 2, 0, 0, 1 / 0.7 / 2), rel=1e-5)
    assert module.objective.get_submodule("selection.at_min_tpr").memory == 7.0


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
def test_beats_cross_entropy_in_its_region(region: Region, study: Study) -> None:
    """Most of what there is to gain, by the selection alone."""
    weight = study.train(HardCE, region, learning_rate=0.02)
    gain = study.value(weight, region) - study.value(study.cross_entropy, region)
    assert gain > (0.1 if region.is_two_way else 0.02)
