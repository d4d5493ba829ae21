"""PartialAUC as a method: hand-computed steps, its settings, and its gain over cross-entropy."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from methods.four_samples import step_along, step_of, train
from methods.gaussian import REGIONS, Study

from pauc_lightning.methods import PartialAUC
from pauc_lightning.objectives.surrogate import AnySurrogateName
from pauc_lightning.region import Region


def test_one_way_step_on_logits(tmp_path: Path) -> None:
    """β = .5 keeps the negative .3: e^{−gap} is (.4/.6)(.3/.7) = 2/7 and (.2/.8)(.3/.7) = 3/28."""
    module = train(PartialAUC, tmp_path, max_fpr=0.5, surrogate="logistic")
    expected = (math.log(9 / 7) + math.log(31 / 28)) / 2
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(expected)
    slope = -(2 / 9 * math.log(7 / 2) + 3 / 31 * math.log(28 / 3)) / 2
    assert step_of(module) == pytest.approx(slope, rel=1e-5)
    threshold = module.trainer.callback_metrics["train/threshold_at_max_fpr"]
    assert float(threshold) == pytest.approx((math.log(0.2 / 0.8) + math.log(0.3 / 0.7)) / 2, rel=1e-5)


def test_the_default_is_the_sigmoid_of_the_gaps(tmp_path: Path) -> None:
    """1/(1 + e^s) with the same gaps is 2/9 and 3/31, and its slope is −p(1 − p)."""
    module = train(PartialAUC, tmp_path, max_fpr=0.5)
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx((2 / 9 + 3 / 31) / 2)
    slope = -(2 / 9 * 7 / 9 * math.log(7 / 2) + 3 / 31 * 28 / 31 * math.log(28 / 3)) / 2
    assert step_of(module) == pytest.approx(slope, rel=1e-5)


def test_two_way_step_on_scores(tmp_path: Path) -> None:
    """The squared loss takes scores: 1 − .6 + .3 = .7 is that of the hardest pair."""
    module = train(PartialAUC, tmp_path, max_fpr=0.5, min_tpr=0.5, surrogate="squared")
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(0.49)
    assert step_of(module) == pytest.approx(step_along(-1.4, 0, 0, 1.4), rel=1e-5)


def test_settings_are_passed_on(tmp_path: Path) -> None:
    """A hinge of sigmoids: (.7 + .5)/2."""
    module = train(PartialAUC, tmp_path, max_fpr=0.5, surrogate="hinge", score="sigmoid", memory=7.0)
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(0.6)
    assert module.objective.get_submodule("selection.at_max_fpr").memory == 7.0


def test_temperature_and_region_of_the_loss(tmp_path: Path) -> None:
    """A hinge of logits / 2 over both negatives: the gaps of the four samples' logits, two of them above 2."""
    module = train(
        PartialAUC,
        tmp_path,
        max_fpr=0.5,
        train_max_fpr=1.0,
        surrogate="hinge",
        temperature=2.0,
        learning_rate=0.0,
    )
    logits = [math.log(f / (1 - f)) for f in (0.6, 0.8, 0.2, 0.3)]
    losses = [max(0.0, 1 - (p - n) / 2) for p in logits[:2] for n in logits[2:]]
    assert sum(loss == 0 for loss in losses) == 2
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(sum(losses) / 4, rel=1e-5)
    module = train(PartialAUC, tmp_path, max_fpr=0.5, surrogate="squared", temperature=2.0, learning_rate=0.0)
    f_pos, f_neg = ([1 / (1 + math.exp(-z / 2)) for z in part] for part in (logits[:2], logits[3:]))
    losses = [(1 - p + f_neg[0]) ** 2 for p in f_pos]
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(sum(losses) / 2, rel=1e-5)


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
@pytest.mark.parametrize("surrogate", ["squared", "sigmoid"])
def test_a_bounded_surrogate_finds_the_best_direction(
    surrogate: AnySurrogateName, region: Region, study: Study
) -> None:
    study.check_gain(PartialAUC, region, learning_rate=0.2, surrogate=surrogate)


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
@pytest.mark.parametrize("surrogate", ["logistic", "hinge", "exponential"])
def test_a_convex_surrogate_beats_cross_entropy(
    surrogate: AnySurrogateName, region: Region, study: Study
) -> None:
    """It does not find the best direction: on logits the positives that no direction can save count the most."""
    weight = study.train(PartialAUC, region, learning_rate=0.02, surrogate=surrogate)
    gain = study.value(weight, region) - study.value(study.cross_entropy, region)
    assert gain > (0.1 if region.is_two_way else 0.01)
