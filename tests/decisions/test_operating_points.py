"""The thresholds of a run: chosen on its validation part, saved, read, and applied to new data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from pauc_lightning.decisions import (
    OperatingPoints,
    choose_operating_points,
    operating_point_of_run,
    read_operating_points,
    threshold_text,
    write_operating_points,
)
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import threshold_for_fpr
from pauc_lightning.run_files import SavedScores, write_scores


def samples(seed: int = 0, n_pos: int = 100, n_neg: int = 900) -> SavedScores:
    rng = np.random.default_rng(seed)
    label = (np.arange(n_pos + n_neg) < n_pos).astype(np.int8)
    return SavedScores(norm.cdf(rng.normal(size=len(label)) + 2 * label), label)


def chosen(scores: SavedScores, *targets: float, delta: float = 0.05) -> OperatingPoints:
    return choose_operating_points(scores.score, scores.label, targets, delta=delta)


def test_both_thresholds_are_those_of_a_scan_over_the_negatives() -> None:
    scores = samples()
    negatives = np.sort(scores.score[scores.label == 0])
    (point,) = chosen(scores, 0.05).points
    # The empirical one: the lowest that 45 of the 900 negatives reach.
    assert (negatives >= point.empirical.threshold).sum() == 45
    assert negatives[-46] < point.empirical.threshold <= negatives[-46] * (1 + 1e-4)
    # The guaranteed one, from the definition: 900 negatives above their 95 % quantile are binomial.
    rng = np.random.default_rng(1)
    above = rng.binomial(900, 0.05, 200_000)  # how many of 900 lie above the true quantile
    n_called = int((negatives >= point.point.threshold).sum())
    assert point.kind == "guaranteed"
    assert (above <= n_called).mean() <= 0.05 + 0.002  # then the threshold is below the quantile
    assert (above <= n_called + 1).mean() > 0.05 - 0.002
    for one in (point.empirical, point.point):
        called = scores.score >= one.threshold
        assert one.fpr == called[scores.label == 0].mean()
        assert one.tpr == called[scores.label == 1].mean()
        assert one.precision == scores.label[called].mean()


def test_the_guarantee_holds_on_new_data_and_the_empirical_threshold_has_none() -> None:
    """In simulation: how often does the false-positive rate on new data exceed the budget?"""
    exceeded = {"empirical": 0, "guaranteed": 0}
    for seed in range(2000):
        (point,) = chosen(samples(seed, 10, 400), 0.05).points
        for kind in ("empirical", "guaranteed"):
            exceeded[kind] += norm.sf(norm.ppf(point.of_kind(kind).threshold)) > 0.05
    assert exceeded["guaranteed"] / 2000 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)
    assert 0.4 < exceeded["empirical"] / 2000 < 0.6


def test_too_few_negatives_leave_the_empirical_threshold_and_the_number_needed() -> None:
    (point,) = chosen(samples(n_neg=298), 0.01).points
    assert point.guaranteed is None
    assert point.point == point.empirical
    assert "takes at least 299 negatives" in point.why_not_guaranteed
    assert "there are 298" in point.why_not_guaranteed
    with pytest.raises(InputError, match=r"at least 299 negatives .* or take the empirical one"):
        point.of_kind("guaranteed")
    (enough,) = chosen(samples(n_neg=299), 0.01).points
    assert enough.kind == "guaranteed"
    assert enough.why_not_guaranteed == ""


@pytest.mark.parametrize("spread", [1, 1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("end", [0.0, 0.3, 1.0])
def test_the_printed_threshold_decides_as_the_scan_does_wherever_the_scores_crowd(
    spread: float, end: float
) -> None:
    drawn = samples()
    score = end + (drawn.score - (end == 1)) * spread * 0.6
    for target in (0.001, 0.01, 0.05):
        (point,) = choose_operating_points(score, drawn.label, [target]).points
        exact = threshold_for_fpr(score[drawn.label == 0], target, confidence=None)
        typed = float(threshold_text(point.empirical.threshold))
        assert ((score >= typed) == (score >= exact)).all()
        assert typed == point.empirical.threshold
        assert spread < 1 or len(threshold_text(typed)) <= 12


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    points = chosen(samples(n_neg=298), 0.3, 0.01, 0.05, 0.05, delta=0.1)
    assert [point.target_fpr for point in points.points] == [0.01, 0.05, 0.3]
    path = write_operating_points(tmp_path, points)
    assert read_operating_points(tmp_path) == points
    assert json.loads(path.read_text())["decision"] == "positive if score >= threshold"
    path.write_text('{"points": 3}')
    with pytest.raises(InputError, match=r"operating_points.json` is damaged: delete it"):
        read_operating_points(tmp_path)


def test_scores_that_call_no_one_positive_are_written_and_read(tmp_path: Path) -> None:
    """The highest scores are negatives: at such a threshold the precision is 0, above it nothing is called."""
    label = np.repeat([0, 1], [100, 5])
    points = choose_operating_points(np.linspace(1, 0, 105), label, [0.005])
    assert np.isnan(points.points[0].empirical.precision)
    write_operating_points(tmp_path, points)
    assert np.isnan(read_operating_points(tmp_path).points[0].empirical.precision)


def test_a_run_without_the_file_has_the_thresholds_that_follow_from_its_scores(tmp_path: Path) -> None:
    scores = samples()
    write_scores(tmp_path / "validation_scores.npz", scores)
    assert read_operating_points(tmp_path) == chosen(scores, 0.01, 0.05)
    (tmp_path / "config.yaml").write_text("model: {init_args: {max_fpr: 0.2}}\n")
    assert read_operating_points(tmp_path) == chosen(scores, 0.01, 0.05, 0.2)
    (tmp_path / "config.yaml").write_text("decision: {target_fpr: [0.1], delta: 0.2}\n")
    assert read_operating_points(tmp_path) == chosen(scores, 0.1, delta=0.2)


def test_any_budget_has_its_threshold(tmp_path: Path) -> None:
    scores = samples()
    write_scores(tmp_path / "validation_scores.npz", scores)
    write_operating_points(tmp_path, chosen(scores, 0.05, delta=0.1))
    assert operating_point_of_run(tmp_path, 0.05).delta == 0.1
    assert operating_point_of_run(tmp_path, 0.02) == chosen(scores, 0.02, delta=0.1).points[0]
    assert operating_point_of_run(tmp_path, 0.05, delta=0.01) == chosen(scores, 0.05, delta=0.01).points[0]
    with pytest.raises(InputError, match="`target_fpr`"):
        operating_point_of_run(tmp_path, 1.0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([0.1, 0.2], [0, 1], []), "`target_fpr` is empty"),
        (([0.1, 0.2], [0, 1], [0.0]), "`target_fpr` must be"),
        (([0.1, 0.2], [0, 0], [0.1]), "both classes"),
        (([0.1, 0.2], [1, 1], [0.1]), "`negatives` is empty"),
        (([0.1, np.nan], [0, 1], [0.1]), "must be finite"),
    ],
)
def test_mistakes_get_a_sentence(arguments, sentence) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=sentence):
        choose_operating_points(*arguments)
