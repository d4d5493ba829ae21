"""Confidence intervals against brute force, DeLong's formula, scipy and simulated coverage."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import (
    binary_partial_auc,
    partial_auc_difference,
    partial_auc_interval,
    tpr_at_fpr_interval,
)
from pauc_lightning.metrics.functional.cells import Cells, areas, highest_tpr
from pauc_lightning.metrics.functional.influence import influence
from pauc_lightning.metrics.functional.intervals import IntervalMethod
from pauc_lightning.region import Region

REGIONS = (
    Region(),
    Region(0.05),
    Region(0.3),
    Region(0.3, 0.5),
    Region(0.5, 0.0, 0.2),
    Region(0.6, 0.4, 0.1),
)


def normal_scores(
    rng: np.random.Generator, n_pos: int, n_neg: int, shift: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    is_positive = np.arange(n_pos + n_neg) < n_pos
    return rng.normal(size=n_pos + n_neg) + shift * is_positive, is_positive


def true_value(shift: float, region: Region) -> float:
    """The partial AUC of normal scores, integrated numerically from the known ROC curve."""
    grid = np.linspace(region.min_fpr, region.max_fpr, 400_001)
    fpr = (grid[1:] + grid[:-1]) / 2
    return float(np.maximum(norm.cdf(shift + norm.ppf(fpr)) - region.min_tpr, 0).mean() / region.alpha)


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
def test_areas_of_redrawn_curves_equal_the_metric_on_the_redrawn_samples(region: Region) -> None:
    rng = np.random.default_rng(1)
    for decimals in (0, 1, 6):  # many ties, some, none
        scores, is_positive = normal_scores(rng, 40, 60, 1.0)
        scores = scores.round(decimals)
        cells = Cells.of(scores, is_positive)
        weights = np.where(
            is_positive, rng.multinomial(40, is_positive / 40), rng.multinomial(60, ~is_positive / 60)
        )
        steps = range(len(cells.positives))
        positives = np.array([[weights[(cells.step_of == k) & is_positive].sum() for k in steps]])
        negatives = np.array([[weights[(cells.step_of == k) & ~is_positive].sum() for k in steps]])
        kept, first, last = region.counts(40, 60)
        area = areas(positives, negatives, 40 - kept, first, last)[0] / (kept * (last - first))
        redrawn = binary_partial_auc(
            np.repeat(scores, weights),
            np.repeat(is_positive, weights),
            region.max_fpr,
            region.min_tpr,
            region.min_fpr,
        )
        assert area == pytest.approx(float(redrawn), abs=1e-12)


def test_highest_tpr_equals_a_scan_over_all_thresholds() -> None:
    rng = np.random.default_rng(2)
    for decimals, most in product((0, 1, 6), (0, 3, 20)):
        scores, is_positive = normal_scores(rng, 30, 50, 1.0)
        scores = scores.round(decimals)
        scan = max(
            ((scores >= t) & is_positive).sum() / 30 if ((scores >= t) & ~is_positive).sum() <= most else 0.0
            for t in [*scores, np.inf]
        )
        cells = Cells.of(scores, is_positive)
        assert highest_tpr(cells.positives[None], cells.negatives[None], most)[0] == pytest.approx(scan)


@pytest.mark.parametrize(("n_pos", "n_neg"), [(40, 60), (30, 3000)])
def test_the_fast_bootstrap_has_the_distribution_of_a_plain_loop(n_pos: int, n_neg: int) -> None:
    rng = np.random.default_rng(4)
    scores, is_positive = normal_scores(rng, n_pos, n_neg, 1.5)
    scores = scores.round(2)
    loop = []
    for _ in range(2000):
        rows = np.concatenate([rng.integers(0, n_pos, n_pos), rng.integers(n_pos, n_pos + n_neg, n_neg)])
        loop.append(float(binary_partial_auc(scores[rows], is_positive[rows], 0.2, validate_args=False)))
    fast = partial_auc_interval(scores, is_positive, 0.2, method="bootstrap")
    spread = np.std(loop)
    assert fast.standard_error == pytest.approx(spread, rel=0.08)
    # On the logit scale: the ends are as far from the value's logit on both sides.
    logits = [np.log(x / (1 - x)) for x in (fast.low, fast.value, fast.high)]
    reach = norm.ppf(0.975) * fast.standard_error / (fast.value * (1 - fast.value))
    assert [logits[1] - logits[0], logits[2] - logits[1]] == pytest.approx([reach, reach])


def test_the_whole_auc_has_delongs_standard_error() -> None:
    scores, is_positive = normal_scores(np.random.default_rng(5), 40, 70, 1.0)
    scores = scores.round(1)
    gaps = scores[is_positive][:, None] - scores[~is_positive]
    wins = (gaps > 0) + 0.5 * (gaps == 0)
    delong = np.sqrt(wins.mean(1).var(ddof=1) / 40 + wins.mean(0).var(ddof=1) / 70)
    assert influence(scores, is_positive, Region()).standard_error == pytest.approx(delong, rel=1e-12)


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
def test_the_analytic_error_agrees_with_the_bootstrap(region: Region) -> None:
    scores, is_positive = normal_scores(np.random.default_rng(6), 400, 3000, 1.5)
    rates = (region.max_fpr, region.min_tpr, region.min_fpr)
    analytic = partial_auc_interval(scores, is_positive, *rates)
    bootstrap = partial_auc_interval(scores, is_positive, *rates, method="bootstrap")
    assert analytic.value == bootstrap.value == float(binary_partial_auc(scores, is_positive, *rates))
    assert analytic.standard_error == pytest.approx(bootstrap.standard_error, rel=0.1)
    assert analytic.low < analytic.value < analytic.high


@pytest.mark.parametrize("n_pos", [50, 500])
@pytest.mark.parametrize(
    "region", [Region(0.05), Region(0.3), Region(0.3, 0.5)], ids=lambda region: region.name
)
def test_analytic_intervals_cover_the_true_value(region: Region, n_pos: int) -> None:
    rng = np.random.default_rng(7)
    truth = true_value(2.0, region)
    rates = (region.max_fpr, region.min_tpr)
    intervals = [partial_auc_interval(*normal_scores(rng, n_pos, 2000, 2.0), *rates) for _ in range(1000)]
    covered = np.mean([interval.low <= truth <= interval.high for interval in intervals])
    assert 0.93 <= covered <= 0.97


@pytest.mark.parametrize("n_pos", [50, 500])
@pytest.mark.parametrize(
    "region", [Region(0.05), Region(0.3), Region(0.3, 0.5)], ids=lambda region: region.name
)
def test_bootstrap_intervals_cover_the_true_value(region: Region, n_pos: int) -> None:
    rng = np.random.default_rng(8)
    truth = true_value(2.0, region)
    rates = (region.max_fpr, region.min_tpr)
    intervals = [
        partial_auc_interval(
            *normal_scores(rng, n_pos, 1000, 2.0), *rates, method="bootstrap", n_resamples=400, seed=repeat
        )
        for repeat in range(1000)
    ]
    covered = np.mean([interval.low <= truth <= interval.high for interval in intervals])
    assert 0.93 <= covered <= 0.97


@pytest.mark.parametrize("method", ["analytic", "bootstrap"])
@pytest.mark.parametrize("region", [Region(0.2), Region(0.3, 0.5)], ids=lambda region: region.name)
def test_a_paired_difference_is_narrower_than_the_unpaired_one_and_covers_the_truth(
    method: IntervalMethod, region: Region
) -> None:
    rng = np.random.default_rng(9)
    rates = (region.max_fpr, region.min_tpr)
    truth = true_value(2.0, region) - true_value(2.0 / np.sqrt(1.25), region)
    covered, repeats = 0, 1000
    for seed in range(repeats):
        good, is_positive = normal_scores(rng, 100, 500, 2.0)
        worse = good + rng.normal(size=600) * 0.5
        found = partial_auc_difference(
            good, worse, is_positive, *rates, method=method, n_resamples=400, seed=seed
        )
        covered += found.low <= truth <= found.high
    assert 0.93 <= covered / repeats <= 0.97
    alone = [partial_auc_interval(scores, is_positive, *rates).standard_error for scores in (good, worse)]
    assert found.standard_error < 0.9 * np.hypot(alone[0], alone[1])
    assert found.value == float(
        binary_partial_auc(good, is_positive, *rates) - binary_partial_auc(worse, is_positive, *rates)
    )


def test_the_same_model_twice_differs_by_nothing() -> None:
    scores, is_positive = normal_scores(np.random.default_rng(10), 50, 100, 1.0)
    for method in ("analytic", "bootstrap"):
        same = partial_auc_difference(scores, scores, is_positive, 0.3, method=method)
        assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)
        assert not same.excludes_zero


def test_samples_repeated_within_a_group_do_not_narrow_a_clustered_interval() -> None:
    scores, is_positive = normal_scores(np.random.default_rng(11), 60, 200, 1.0)
    once = partial_auc_interval(scores, is_positive, 0.3, method="bootstrap", groups=np.arange(260))
    copies, groups = np.tile(scores, 9), np.tile(np.arange(260), 9)
    labels = np.tile(is_positive, 9)
    naive = partial_auc_interval(copies, labels, 0.3, method="bootstrap")
    clustered = partial_auc_interval(copies, labels, 0.3, method="bootstrap", groups=groups)
    assert naive.standard_error == pytest.approx(once.standard_error / 3, rel=0.15)
    assert clustered.standard_error == pytest.approx(once.standard_error, rel=0.1)


@pytest.mark.parametrize(
    ("n_pos", "shift", "max_fpr"),
    [(200, 2.0, 0.05), (50, 3.0, 0.1), (50, 3.0, 0.3)],
    ids=["200", "50", "near 1"],
)
def test_tpr_intervals_cover_the_true_rate(n_pos: int, shift: float, max_fpr: float) -> None:
    """Near 1 the percentiles of the resamples would cover the true rate in half of the cases."""
    rng = np.random.default_rng(12)
    truth = norm.cdf(shift + norm.ppf(max_fpr))
    intervals = [
        tpr_at_fpr_interval(
            *normal_scores(rng, n_pos, 10 * n_pos, shift), max_fpr, n_resamples=300, seed=repeat
        )
        for repeat in range(300)
    ]
    assert 0.91 <= np.mean([i.low <= truth <= i.high for i in intervals]) <= 0.995


def test_tpr_intervals_of_groups_count_groups_where_all_positives_are_found() -> None:
    scores, labels = np.repeat([1.0, 0.0], [20, 40]), np.repeat([1, 0], [20, 40])
    once = tpr_at_fpr_interval(scores, labels, 0.1)
    copies = tpr_at_fpr_interval(
        np.tile(scores, 9), np.tile(labels, 9), 0.1, groups=np.tile(np.arange(60), 9)
    )
    assert (once.value, once.high) == (1.0, 1.0)
    assert once.low == pytest.approx(20 / (20 + norm.ppf(0.975) ** 2))  # Wilson's for 20 of 20
    assert copies.low == pytest.approx(once.low)


@pytest.mark.parametrize("method", ["analytic", "bootstrap"])
def test_perfect_and_hopeless_scores_have_an_interval(method: IntervalMethod) -> None:
    labels = np.repeat([0, 1], 30)
    perfect = partial_auc_interval(np.arange(60.0), labels, 0.5, method=method)
    hopeless = partial_auc_interval(-np.arange(60.0), labels, 0.5, method=method)
    assert (perfect.value, perfect.high, hopeless.value, hopeless.low) == (1, 1, 0, 0)
    assert perfect.low == pytest.approx(0.025 ** (1 / 15))
    assert hopeless.high == pytest.approx(1 - 0.025 ** (1 / 15))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"confidence": 95}, "`confidence` must be"),
        ({"n_resamples": 5, "method": "bootstrap"}, "`n_resamples` must be"),
        ({"method": "exact"}, "`method` must be one of"),
        ({"groups": [1, 2], "method": "bootstrap"}, "the group of each of the 8 samples, got 2"),
        ({"groups": list(range(8))}, '`groups` need `method="bootstrap"`'),
        ({"seed": -1}, "`seed` must be a whole number, at least 0, got -1"),
        ({"seed": "a", "method": "bootstrap"}, "`seed` must be a whole number, at least 0, got 'a'"),
    ],
)
def test_mistakes_get_a_sentence(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        partial_auc_interval(np.arange(8.0), [0, 1] * 4, 0.5, **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        ([7] * 8, "got all 4 positives in the group 7"),
        ([0, 1] * 4, "got all 4 positives in the group 1"),
        ([0, 1, 0, 2] * 2, "got all 4 negatives in the group 0"),
        ([np.nan, 1, 2, 3] * 2, "got 2 of 8 missing"),
        ([None, "a", "b", "c"] * 2, "got 2 of 8 missing"),
        (pd.Series([pd.NA, "a", "b", "c"] * 2, dtype="string"), "got 2 of 8 missing"),
        (
            pd.to_datetime(pd.Series([None, "2026-01-01", "2026-01-02", "2026-01-03"] * 2)),
            "got 2 of 8 missing",
        ),
        (pd.Series([1, "a", 2, "b"] * 2, dtype=object), "values of one type, got int and str"),
    ],
)
def test_groups_that_cannot_be_resampled_are_refused(groups: ArrayLike, sentence: str) -> None:
    """One group for a class is drawn whole or not at all, which would look like a value without any error."""
    scores, labels = np.arange(8.0), [0, 1] * 4
    with pytest.raises(InputError, match=sentence):
        partial_auc_interval(scores, labels, 0.5, method="bootstrap", groups=groups)
    with pytest.raises(InputError, match=sentence):
        partial_auc_difference(scores, -scores, labels, 0.5, method="bootstrap", groups=groups)
    with pytest.raises(InputError, match=sentence):
        tpr_at_fpr_interval(scores, labels, 0.5, groups=groups)


def test_names_of_groups_may_be_any_text() -> None:
    scores, labels, names = np.arange(8.0), [0, 1] * 4, ["a", "b", "c", "d"] * 2
    plain, strings = (
        tpr_at_fpr_interval(scores, labels, 0.5, groups=groups)
        for groups in (names, pd.Series(names, dtype=object))
    )
    assert plain == strings


def test_one_positive_has_no_interval() -> None:
    with pytest.raises(
        InputError, match="at least two samples of each class for an interval, got 1 positives"
    ):
        partial_auc_interval([0.1, 0.2, 0.3], [0, 0, 1])
