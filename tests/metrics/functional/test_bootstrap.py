"""The bootstrap on counts against the multinomial distribution, real resamples and scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare, poisson
from sklearn.metrics import roc_auc_score

from pauc_lightning.metrics.functional import (
    binary_partial_auc,
    partial_auc_difference,
    partial_auc_interval,
    tpr_at_fpr,
    tpr_at_fpr_interval,
)
from pauc_lightning.metrics.functional.bootstrap import resampled, resampled_together
from pauc_lightning.metrics.functional.cells import Cells, areas
from pauc_lightning.metrics.functional.intervals import _values
from pauc_lightning.metrics.functional.urn import Urn, _PoissonTable
from pauc_lightning.region import Region

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
REGIONS = (Region(), Region(0.2), Region(0.4, 0.5), Region(0.5, 0.2, 0.1))


def two_models(
    n: int, positives: float, decimals: int, seed: int = 0
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    is_positive = np.arange(n) < positives * n
    scores = rng.normal(size=n) + 1.5 * is_positive
    return scores.round(decimals), (scores + rng.normal(size=n)).round(decimals), is_positive


def pauc(scores: Floats, is_positive: NDArray[np.bool_], region: Region) -> float:
    rates = (region.max_fpr, region.min_tpr, region.min_fpr)
    return float(binary_partial_auc(scores, is_positive, *rates))


def assert_same_distribution(fast: Floats, loop: Floats) -> None:
    """Mean and spread agree within four standard errors of the difference, which both samples' sizes decide."""
    spread = loop.std()
    assert fast.mean() == pytest.approx(loop.mean(), abs=4 * spread * np.sqrt(1 / len(fast) + 1 / len(loop)))
    assert fast.std() == pytest.approx(spread, rel=4 * np.sqrt(0.5 / len(fast) + 0.5 / len(loop)))


@pytest.mark.parametrize("mean", [0.3, 1.0, 7.7, 128.0])
def test_a_table_draws_poisson_numbers(mean: float) -> None:
    """All of them, also those that the table leaves undecided."""
    drawn = _PoissonTable.of(mean).draw(np.random.default_rng(0), 1_000_001)
    low, high = int(poisson.ppf(1e-4, mean)), int(poisson.isf(1e-4, mean))
    observed = np.bincount(np.clip(drawn, low, high) - low)
    share = poisson.pmf(np.arange(low, high + 1), mean)
    share[0], share[-1] = poisson.cdf(low, mean), poisson.sf(high - 1, mean)
    assert chisquare(observed, share * len(drawn)).pvalue > 1e-3


@pytest.mark.parametrize(
    "sizes",
    [[1, 1], [1, 0, 3, 20, 7, 400], [0] * 300 + [1] * 300 + [2] * 300 + [9, 129, 5000]],
    ids=["two samples", "few cells", "with tables"],
)
def test_an_urn_draws_multinomial_counts(sizes: list[int]) -> None:
    size = np.array(sizes)
    drawn = Urn(size).draw(np.random.default_rng(1), 20_000)
    total = size.sum()
    assert (drawn.sum(axis=1) == total).all()
    assert (drawn[:, size == 0] == 0).all()
    share = size / total
    kinds = np.unique(size[size > 0])
    # Sums over the cells of one size are multinomial, too, and few enough to compare all their covariances.
    sums = np.stack([drawn[:, size == kind].sum(axis=1) for kind in kinds])
    shares = np.array([share[size == kind].sum() for kind in kinds])
    variances = total * shares * (1 - shares)
    assert np.abs(sums.mean(axis=1) - total * shares).max() <= 5 * np.sqrt(variances.max() / 20_000)
    covariance = total * (np.diag(shares) - np.outer(shares, shares))
    tolerance = 5 * np.sqrt((covariance**2 + np.outer(variances, variances)) / 20_000) + 1e-9
    assert (np.abs(np.cov(sums) - covariance) <= tolerance).all()
    # Each cell alone is binomial.
    used = size > 0
    expected = total * share * (1 - share)
    kurtosis = 3 + 1 / np.maximum(expected, 1e-9)
    error = 5.5 * expected * np.sqrt(kurtosis / 20_000)
    assert (np.abs(drawn.var(axis=0) - expected)[used] <= error[used]).all()


def test_the_rows_of_an_urn_that_overflow_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a reserve, half of the rows do, and the counts are multinomial nevertheless."""
    monkeypatch.setattr("pauc_lightning.metrics.functional.urn._RESERVE", 0)
    drawn = Urn(np.array([5, 10, 25])).draw(np.random.default_rng(2), 20_000)
    assert (drawn.sum(axis=1) == 40).all()
    assert drawn.mean(axis=0) == pytest.approx([5, 10, 25], abs=0.1)
    assert drawn.var(axis=0) == pytest.approx([4.375, 7.5, 9.375], rel=0.06)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
@pytest.mark.parametrize("decimals", [0, 1, 8], ids=["many ties", "some ties", "no ties"])
def test_the_values_are_those_of_the_same_resamples_sorted_again(
    grouped: bool, region: Region, decimals: int
) -> None:
    one, other, is_positive = two_models(90, 0.5, decimals)
    # On the curve of a score that alternates the classes, each sample is a step: its counts are the weights.
    order = np.empty(90)
    order[is_positive], order[~is_positive] = 2 * np.arange(45), 2 * np.arange(45) + 1
    revealing = Cells.of(order, is_positive)
    curves = [revealing, Cells.of(one, is_positive), Cells.of(other, is_positive)]
    groups = np.random.default_rng(3).integers(0, 30, 90) if grouped else None
    seen: list[Sequence[tuple[Counts, Counts]]] = []

    def statistic(counts: Sequence[tuple[Counts, Counts]]) -> Floats:
        seen.append(counts)
        return _values(*counts[1], region=region) - _values(*counts[2], region=region)

    drawn = resampled_together(curves, is_positive, groups, statistic, 150, seed=0)
    positives, negatives = (
        np.concatenate(parts) for parts in zip(*(counts[0] for counts in seen), strict=True)
    )
    weights = (positives + negatives)[:, revealing.step_of]
    assert len(drawn) == len(weights) == 150
    assert len(revealing.positives) == 90
    if groups is None:
        assert (weights[:, is_positive].sum(axis=1) == 45).all()
        assert (weights[:, ~is_positive].sum(axis=1) == 45).all()
    else:
        names, firsts = np.unique(groups, return_index=True)
        assert (weights == weights[:, firsts][:, np.searchsorted(names, groups)]).all()  # whole groups
        assert (weights[:, firsts].sum(axis=1) == len(names)).all()
    for value, times in zip(drawn, weights, strict=True):
        labels = np.repeat(is_positive, times)
        expected = pauc(np.repeat(one, times), labels, region) - pauc(np.repeat(other, times), labels, region)
        assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("positives", [0.03, 0.5])
@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
def test_plain_resamples_have_the_distribution_of_a_loop(region: Region, positives: float) -> None:
    scores, _, is_positive = two_models(3000, positives, 2)
    fast = resampled(
        Cells.of(scores, is_positive), lambda p, n: _values(p, n, region), 3000, seed=0, region=region
    )
    rng = np.random.default_rng(4)
    classes = [np.flatnonzero(is_positive), np.flatnonzero(~is_positive)]
    loop = []
    for _ in range(400):
        rows = np.concatenate([rng.choice(own, len(own)) for own in classes])
        loop.append(pauc(scores[rows], is_positive[rows], region))
    assert_same_distribution(fast, np.array(loop))


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
@pytest.mark.parametrize("grouped", [False, True])
def test_paired_and_grouped_resamples_have_the_distribution_of_a_loop(region: Region, grouped: bool) -> None:
    one, other, is_positive = two_models(1000, 0.2, 2)
    rng = np.random.default_rng(5)
    # Groups of unequal sizes, whose samples are alike: neighbours in the order of the scores.
    groups = np.sort(rng.integers(0, 200, 1000) ** 2 // 200)[
        np.argsort(np.argsort(one + rng.normal(size=1000)))
    ]
    classes = [np.flatnonzero(is_positive), np.flatnonzero(~is_positive)]
    names, group_of = np.unique(groups, return_inverse=True)
    loop = []
    for _ in range(400):
        if grouped:
            times = np.bincount(rng.integers(0, len(names), len(names)), minlength=len(names))
            rows = np.repeat(np.arange(1000), times[group_of])
        else:
            rows = np.concatenate([rng.choice(own, len(own)) for own in classes])
        if region == Region():
            values = [roc_auc_score(is_positive[rows], scores[rows]) for scores in (one, other)]
        else:
            values = [pauc(scores[rows], is_positive[rows], region) for scores in (one, other)]
        loop.append(values[0] - values[1])
    curves = [Cells.of(scores, is_positive) for scores in (one, other)]
    fast = resampled_together(
        curves,
        is_positive,
        groups if grouped else None,
        lambda counts: _values(*counts[0], region=region) - _values(*counts[1], region=region),
        3000,
        seed=0,
        region=region,
    )
    assert_same_distribution(fast, np.array(loop))
    expected = partial_auc_difference(
        one,
        other,
        is_positive,
        region.max_fpr,
        region.min_tpr,
        region.min_fpr,
        method="bootstrap",
        groups=groups if grouped else None,
        n_resamples=3000,
    )
    assert [expected.low, expected.high] == pytest.approx(
        np.quantile(fast, [0.025, 0.975]).tolist(), abs=1e-12
    )


@pytest.mark.parametrize("group_size", [None, 1, 5, 50], ids=str)
@pytest.mark.parametrize("region", [Region(0.05), Region(0.2, 0.5)], ids=lambda region: region.name)
def test_the_region_ends_within_the_steps_that_are_kept(region: Region, group_size: int | None) -> None:
    scores, _, is_positive = two_models(100_000, 0.05, 8)
    cells = Cells.of(scores, is_positive)
    # Samples of a group have neighbouring scores, the worst case for what a resample reaches.
    groups = None if group_size is None else np.argsort(np.argsort(scores)) // group_size
    checked = 0

    def statistic(counts: Sequence[tuple[Counts, Counts]]) -> Floats:
        nonlocal checked
        ((positives, negatives),) = counts
        assert negatives.shape[1] < 0.9 * len(cells.negatives)  # the others are joined
        for n_pos, n_neg, p, n in zip(
            positives.sum(axis=1), negatives.sum(axis=1), positives, negatives, strict=True
        ):
            kept, _, last = region.counts(int(n_pos), int(n_neg))
            assert n[:-1].sum() >= last
            assert groups is not None or p[0] <= max(n_pos - kept, cells.positives[0] + 20)
            checked += 1
        return np.zeros(len(positives))

    resampled_together([cells], is_positive, groups, statistic, 300, 0, region)
    assert checked == 300


def test_few_groups_keep_all_steps() -> None:
    """Three groups: a resample may consist of any one of them."""
    scores, _, is_positive = two_models(3000, 0.1, 8)
    cells = Cells.of(scores, is_positive)
    widths = set()

    def statistic(counts: Sequence[tuple[Counts, Counts]]) -> Floats:
        widths.add(counts[0][0].shape[1])
        return np.zeros(len(counts[0][0]))

    resampled_together([cells], is_positive, np.arange(3000) % 3, statistic, 100, 0, Region(0.05))
    assert widths == {len(cells.positives)}


def test_joined_steps_have_the_areas_of_the_curve_they_come_from() -> None:
    scores, _, is_positive = two_models(500, 0.4, 1)
    cells = Cells.of(scores, is_positive)
    below = np.cumsum(cells.positives)
    right = np.cumsum(cells.negatives)
    start, end = int(np.searchsorted(below, 60)), int(np.searchsorted(right, 150)) + 1
    part = cells.between(start, end)
    assert len(part.positives) < len(cells.positives)
    for positives, own in ((part.positives, is_positive), (part.negatives, ~is_positive)):
        assert np.bincount(part.step_of[own], minlength=len(positives)).tolist() == positives.tolist()
    found, expected = (
        areas(one.positives[None], one.negatives[None], int(below[start]), 0, 150)[0] for one in (part, cells)
    )
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_recall_by_groups_has_the_spread_of_a_loop() -> None:
    scores, _, is_positive = two_models(1500, 0.2, 1)
    groups = np.random.default_rng(6).integers(0, 200, 1500)
    rng = np.random.default_rng(7)
    loop = []
    for _ in range(800):
        times = np.bincount(rng.integers(0, 200, 200), minlength=200)
        rows = np.repeat(np.arange(1500), times[groups])
        loop.append(tpr_at_fpr(scores[rows], is_positive[rows], 0.1).tpr)
    found = tpr_at_fpr_interval(scores, is_positive, 0.1, groups=groups)
    assert found.standard_error == pytest.approx(np.std(loop), rel=0.12)


@pytest.mark.filterwarnings("error")
def test_groups_of_one_class_make_resamples_that_lack_the_other() -> None:
    """Two groups hold all positives: one resample in ten has none, which is no value and no warning."""
    scores, _, is_positive = two_models(200, 0.2, 8)
    groups = np.where(is_positive, np.arange(200) % 2, 2 + np.arange(200) % 18)
    for found in (
        partial_auc_interval(scores, is_positive, 0.3, method="bootstrap", groups=groups),
        tpr_at_fpr_interval(scores, is_positive, 0.3, groups=groups),
    ):
        assert np.isfinite([found.low, found.high, found.standard_error]).all()
        assert found.low < found.value < found.high


def test_the_seed_decides_the_resamples() -> None:
    one, other, is_positive = two_models(300, 0.3, 8)
    for groups in (None, np.arange(300) // 3):
        first, again, different = (
            partial_auc_difference(one, other, is_positive, 0.3, method="bootstrap", groups=groups, seed=seed)
            for seed in (0, 0, 1)
        )
        assert first == again
        assert first.low != different.low
