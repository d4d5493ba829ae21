"""AUC-poly as a method: hand-computed steps, and when the weights begin."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch import Callback
from methods.four_samples import step_along, step_of, train
from methods.gaussian import REGIONS, Study

from pauc_lightning.methods import AUCPoly
from pauc_lightning.region import Region


def test_one_way_step(tmp_path: Path) -> None:
    """φ(t) = t: negatives weigh .2 and .3, and t = 1 − f⁺ + f⁻ is .6, .7, .4, .5."""
    module = train(AUCPoly, tmp_path, gamma=1.0, unweighted_epochs=0)
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(0.326 / 4, rel=1e-5)
    slopes = (-0.165, -0.115, 0.23, 0.365)  # of a positive −2 Σ v⁻ t / 4, of a negative Σ (t² + 2 f⁻ t) / 4
    assert step_of(module) == pytest.approx(step_along(*slopes), rel=1e-5)


def test_two_way_loss(tmp_path: Path) -> None:
    """The positives weigh .4 and .2 as well."""
    module = train(AUCPoly, tmp_path, gamma=1.0, unweighted_epochs=0, min_tpr=0.5)
    expected = (0.4 * (0.072 + 0.147) + 0.2 * (0.032 + 0.075)) / 4
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(expected, rel=1e-5)


class Losses(Callback):
    def __init__(self) -> None:
        self.values: list[float] = []

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        self.values.append(float(trainer.callback_metrics["train/loss"]))


def test_weights_begin_after_the_warm_up_and_the_unweighted_epochs(tmp_path: Path) -> None:
    losses = Losses()
    train(
        AUCPoly, tmp_path, learning_rate=0.0, gamma=1.0, unweighted_epochs=2, warmup_epochs=1, max_epochs=4,
        callbacks=[losses],
    )  # fmt: skip
    cross_entropy = -math.log(0.6 * 0.8 * 0.8 * 0.7) / 4
    assert losses.values == pytest.approx([cross_entropy, 1.26 / 4, 1.26 / 4, 0.326 / 4], rel=1e-5)


@pytest.mark.parametrize(("max_epochs", "warns"), [(3, True), (4, False)])
def test_weights_that_never_begin_are_named(
    tmp_path: Path, recwarn: pytest.WarningsRecorder, max_epochs: int, warns: bool
) -> None:
    train(AUCPoly, tmp_path, gamma=1.0, unweighted_epochs=2, warmup_epochs=1, max_epochs=max_epochs)
    said = [str(one.message) for one in recwarn if "never begin" in str(one.message)]
    assert len(said) == warns
    assert all("`unweighted_epochs=2` and `warmup_epochs=1` leave nothing" in text for text in said)


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
def test_beats_cross_entropy_in_its_region(region: Region, study: Study) -> None:
    study.check_gain(AUCPoly, region, learning_rate=0.5, unweighted_epochs=2)
