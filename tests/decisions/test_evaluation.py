"""Metrics and decisions of a test set: values of the functions they come from, intervals that cover."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from pauc_lightning.decisions import ChosenPoint, OperatingPoints, choose_operating_points
from pauc_lightning.decisions.evaluation import Evaluation, evaluate_scores
from pauc_lightning.metrics.functional import (
    OperatingPoint,
    operating_point,
    partial_auc_interval,
    tpr_at_fpr,
)
from pauc_lightning.region import Region


def test_everything_is_measured_and_fits_into_json() -> None:
    rng = np.random.default_rng(0)
    label = (np.arange(2000) % 10 == 0).astype(int)
    score = rng.normal(size=2000) + 2 * label
    points = choose_operating_points(score[:1000], label[:1000], [0.01, 0.05])
    found = evaluate_scores(score[1000:], label[1000:], [Region(), Region(0.1)], [0.1], points)
    assert (found.n_pos, found.n_neg) == (100, 900)
    assert [metric.name for metric in found.metrics] == ["auc", "opauc_fpr0.1", "tpr_at_fpr0.1"]
    assert found.metrics[1].interval == partial_auc_interval(score[1000:], label[1000:], 0.1)
    assert found.metrics[2].interval.value == tpr_at_fpr(score[1000:], label[1000:], 0.1).tpr
    for point in found.points:
        by_hand = operating_point(score[1000:], label[1000:], point.chosen.point.threshold)
        assert (point.rates.fpr.value, point.rates.tpr.value) == (by_hand.fpr, by_hand.tpr)
        assert point.rates.precision.value == by_hand.precision
    content = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert content["metrics"]["auc"]["low"] == found.metrics[0].interval.low
    assert content["operating_points"][0]["kind"] == "guaranteed"


def test_groups_of_copies_do_not_narrow_the_intervals() -> None:
    rng = np.random.default_rng(1)
    label = np.repeat([1, 0], [60, 300])
    score = rng.normal(size=360) + 1.5 * label
    points = choose_operating_points(rng.normal(size=500), np.arange(500) % 2, [0.05])
    once = evaluate_scores(score, label, [Region(0.2)], [0.2], points)
    copies = [np.tile(column, 9) for column in (score, label, np.arange(360))]
    naive = evaluate_scores(copies[0], copies[1], [Region(0.2)], [0.2], points)
    clustered = evaluate_scores(copies[0], copies[1], [Region(0.2)], [0.2], points, groups=copies[2])

    def widths(evaluation: Evaluation) -> NDArray[np.float64]:
        rates = evaluation.points[0].rates
        intervals = [
            *(metric.interval for metric in evaluation.metrics),
            rates.fpr,
            rates.tpr,
            rates.precision,
        ]
        return np.array([interval.high - interval.low for interval in intervals])

    assert (widths(naive) < 0.5 * widths(once)).all()
    assert widths(clustered) == pytest.approx(widths(once), rel=0.25)


def test_a_threshold_that_calls_nothing_positive_has_no_precision() -> None:
    points = choose_operating_points([0.1, 0.9, 0.2], [0, 0, 1], [0.1])
    found = evaluate_scores([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], points=points)
    rates = found.points[0].rates
    assert (rates.fpr.value, rates.tpr.value) == (0, 0)
    assert (rates.precision.low, rates.precision.high) == (0, 1)
    assert found.as_json()["operating_points"][0]["precision"]["value"] is None


@pytest.mark.parametrize("grouped", [False, True])
def test_rates_at_a_fixed_threshold_are_covered(grouped: bool) -> None:
    """Samples of a group share half of their variance; the intervals that know the groups cover the true rates."""
    rng = np.random.default_rng(2)
    truth = {"fpr": norm.sf(1.0), "tpr": norm.sf(-1.0)}
    covered = dict.fromkeys(truth, 0)
    point = OperatingPoint(1.0, np.nan, np.nan, np.nan)
    points = OperatingPoints((ChosenPoint(0.5, point, None, 0.05, 1),), 0.05, 1, 1)
    repeats = 300
    for seed in range(repeats):
        group = np.repeat(np.arange(60), 5) if grouped else np.arange(300)
        label = (np.arange(300) % 3 == 0).astype(int)
        shared = rng.normal(size=group.max() + 1)[group]
        score = np.sqrt(0.5) * (shared + rng.normal(size=300)) + 2 * label
        rates = (
            evaluate_scores(
                score, label, points=points, groups=group if grouped else None, n_resamples=200, seed=seed
            )
            .points[0]
            .rates
        )
        for name in truth:
            interval = getattr(rates, name)
            covered[name] += interval.low <= truth[name] <= interval.high
    for name, count in covered.items():
        assert count / repeats >= 0.92, name
