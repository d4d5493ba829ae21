"""What tied scores are worth: the area under the ROC curve inside the region, and nothing else."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score, roc_curve

from pauc_lightning.metrics.functional import (
    binary_partial_auc,
    convert_partial_auc,
    partial_auc_from_counts,
)
from pauc_lightning.region import Region

REGIONS = [
    Region(),
    Region(0.1),
    Region(0.35),
    Region(0.3, 0.7),
    Region(0.8, 0.5),
    Region(1.0, 0.55),
    Region(0.5, min_fpr=0.2),
    Region(0.9, 0.4, 0.15),
]


def examples(number: int) -> settings:
    return settings(max_examples=number, deadline=None, derandomize=True)


def value(scores: NDArray[np.float64], labels: NDArray[np.int64], region: Region) -> float:
    return float(binary_partial_auc(scores, labels, region.max_fpr, region.min_tpr, region.min_fpr))


def integrated(scores: NDArray[np.float64], labels: NDArray[np.int64], region: Region) -> float:
    """The area under scikit-learn's ROC curve in the rectangle of whole counts, over the rectangle's size."""
    fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
    n_pos, n_neg = int(np.sum(labels == 1)), int(np.sum(labels == 0))
    # A decimal's floor, as 1 - 0.7 of 10 is 3.
    left, right = (math.floor(n_neg * rate + 1e-9) / n_neg for rate in (region.min_fpr, region.max_fpr))
    bottom = 1 - math.floor(n_pos * (1 - region.min_tpr) + 1e-9) / n_pos
    area = 0.0
    for x0, x1, y0, y1 in zip(fpr[:-1], fpr[1:], tpr[:-1], tpr[1:], strict=True):
        low, high = max(x0, left), min(x1, right)
        if low >= high:
            continue
        slope = (y1 - y0) / (x1 - x0)
        if slope > 0:  # begin where the line enters the rectangle from below
            low = min(max(low, x0 + (bottom - y0) / slope), high)
        middle = y0 + slope * ((low + high) / 2 - x0)
        area += (high - low) * max(0.0, middle - bottom)
    return area / ((right - left) * (1 - bottom))


def draw(seed: int, levels: float, n_pos: int, n_neg: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat([1, 0], [n_pos, n_neg]))
    return np.round((rng.normal(size=n_pos + n_neg) + 0.8 * labels) * levels), labels


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
@pytest.mark.parametrize("levels", [0.2, 0.5, 1, 3, 1e6])
def test_equals_an_integral_of_scikit_learns_roc_curve(region: Region, levels: float) -> None:
    for seed in range(6):
        scores, labels = draw(seed, levels, n_pos=20 + 7 * seed, n_neg=140 - 21 * seed)
        expected = integrated(scores, labels, region)
        assert value(scores, labels, region) == pytest.approx(expected, abs=1e-12)
        area = binary_partial_auc(
            scores, labels, region.max_fpr, region.min_tpr, region.min_fpr, scale="area"
        )
        assert area.item() == pytest.approx(expected * region.size, abs=1e-12)


@examples(200)
@given(
    samples=st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=40),
    region=st.sampled_from(REGIONS),
)
def test_equals_the_integral_on_few_levels(samples: list[tuple[int, bool]], region: Region) -> None:
    fill = [(level, label) for level in (0, 1, 2, 3, 1, 2) for label in (True, False)] * 2
    scores = np.array([float(score) for score, _ in samples + fill])
    labels = np.array([int(label) for _, label in samples + fill])
    assert value(scores, labels, region) == pytest.approx(integrated(scores, labels, region), abs=1e-12)


@pytest.mark.parametrize(("n_pos", "n_neg"), [(10, 10), (30, 70), (7, 100)])
def test_a_constant_score_gets_what_the_diagonal_leaves(n_pos: int, n_neg: int) -> None:
    scores, labels = np.full(n_pos + n_neg, 0.7), np.repeat([1, 0], [n_pos, n_neg])
    for max_fpr in (0.1, 0.35, 0.5, 1.0):
        selected = math.floor(n_neg * max_fpr)
        assert value(scores, labels, Region(max_fpr)) == selected / (2 * n_neg)
    for region in REGIONS:
        # The traps of the other rules: any region is worth as much as the whole square.
        bounds = region.max_fpr, region.min_tpr, region.min_fpr
        assert binary_partial_auc(scores, labels, *bounds, ties="half") == 0.5
        assert binary_partial_auc(scores, labels, *bounds, ties="win") == 1


def test_a_constant_score_in_two_way_regions_worked_by_hand() -> None:
    scores, labels = np.zeros(20), np.arange(20) % 2
    # FPR <= 0.3 and TPR >= 0.7: the diagonal passes under the corner.
    assert value(scores, labels, Region(0.3, 0.7)) == 0
    # FPR <= 0.8, TPR >= 0.5: a triangle with legs 0.3, from (0.5, 0.5) to (0.8, 0.8), of 0.8 * 0.5.
    assert value(scores, labels, Region(0.8, 0.5)) == 0.1125
    # 0.2 <= FPR <= 0.4: a trapezoid from 0.2 to 0.4, mean height 0.3; TPR >= 0.3 leaves a triangle with legs 0.1.
    assert value(scores, labels, Region(0.4, min_fpr=0.2)) == 0.3
    assert value(scores, labels, Region(0.4, 0.3, 0.2)) == pytest.approx(0.005 / (0.2 * 0.7), abs=1e-15)


def test_one_line_cut_by_all_three_edges_worked_by_hand() -> None:
    # One positive and one negative on top, then six positives that tie with eight negatives, then one of each.
    # In counts the line goes from (1, 1) to (9, 7). With 10 negatives and 8 positives the window is [2, 5] x [2, 8].
    scores = np.array([2.0, 2.0, *[1.0] * 14, 0.0, 0.0])
    labels = np.array([1, 0, *[1] * 6, *[0] * 8, 1, 0])
    # At x = 2 the line is at 1.75, it enters the window at x = 7/3, and is at 4 at x = 5: a triangle 8/3 x 2.
    assert value(scores, labels, Region(0.5, 0.25, 0.2)) == float(Fraction(8, 3) / 18)
    # Half of the selected pairs, though the curve is nowhere near the middle of the window.
    assert binary_partial_auc(scores, labels, 0.5, 0.25, 0.2, ties="half") == (6 * 0.5 - 0.5) / 6


def test_two_levels_are_worth_less_than_what_they_came_from() -> None:
    """The reproduction of the issue: "half" rises by half when the scores are rounded to two levels."""
    rng = np.random.default_rng(0)
    labels = np.repeat([1, 0], [500, 4500])
    scores = rng.normal(size=5000) + labels
    two_levels = (scores > 0.2).astype(float)
    region = Region(0.1)
    assert 0.2 < value(scores, labels, region) < 0.3
    assert value(two_levels, labels, region) < 0.12
    assert binary_partial_auc(two_levels, labels, 0.1, ties="half") > 0.38
    assert value(two_levels, labels, region) == pytest.approx(integrated(two_levels, labels, region))


@examples(150)
@given(seed=st.integers(0, 10**6), region=st.sampled_from(REGIONS), n_pos=st.integers(4, 60))
def test_without_ties_between_the_classes_nothing_changes(seed: int, region: Region, n_pos: int) -> None:
    rng = np.random.default_rng(seed)
    labels = np.repeat([1, 0], [n_pos, 50])
    # Odd scores for positives, even ones for negatives: ties abound within the classes, there is none between them.
    scores = 2.0 * rng.integers(0, 12, size=len(labels)) + labels
    bounds = region.max_fpr, region.min_tpr, region.min_fpr
    rules = [binary_partial_auc(scores, labels, *bounds, ties=ties).item() for ties in ("roc", "half", "win")]
    assert rules[0] == rules[1] == rules[2]
    pos_counts, neg_counts = (np.bincount(scores[labels == c].astype(int), minlength=25) for c in (1, 0))
    assert partial_auc_from_counts(pos_counts, neg_counts, *bounds).value.item() == rules[0]


def tie_breakings(levels: list[tuple[int, int]]) -> list[list[int]]:
    """All orders of the labels that the levels' (positives, negatives), highest first, leave open."""
    per_level = [
        [[int(i in chosen) for i in range(p + n)] for chosen in itertools.combinations(range(p + n), p)]
        for p, n in levels
    ]
    return [list(itertools.chain(*orders)) for orders in itertools.product(*per_level)]


@pytest.mark.parametrize(
    "levels",
    [[(1, 1), (2, 2), (1, 2)], [(0, 1), (3, 2), (0, 2)], [(2, 5)], [(1, 2), (2, 3)], [(4, 1), (1, 4)]],
)
def test_one_way_it_is_the_mean_over_all_tie_breakings_unless_the_edge_cuts_a_tie(
    levels: list[tuple[int, int]],
) -> None:
    n_pos, n_neg = (sum(counts) for counts in zip(*levels, strict=True))
    scores = np.repeat(-np.arange(len(levels), dtype=float), [p + n for p, n in levels])
    labels = np.concatenate([[1] * p + [0] * n for p, n in levels])
    upto = 0
    for p, n in levels:
        for selected in range(upto + 1, upto + n + 1):
            region = Region(selected / n_neg)
            broken = [
                value(-np.arange(n_pos + n_neg, dtype=float), np.array(order), region)
                for order in tie_breakings(levels)
            ]
            ours = value(scores, labels, region)
            if selected == upto + n or p == 0:  # whole ties only
                assert ours == pytest.approx(np.mean(broken), abs=1e-12)
            else:
                assert 0 < np.mean(broken) - ours <= 1 / (2 * (n + 1))
        upto += n


def test_one_way_it_is_the_mean_over_random_tie_breakings_of_many_samples() -> None:
    scores, labels = draw(1, 1, n_pos=150, n_neg=400)
    rng = np.random.default_rng(2)
    negatives = np.sort(scores[labels == 0])[::-1]
    ends = 1 + np.flatnonzero(np.diff(negatives))  # where the ties of negatives end: no tie is cut there
    for selected in ends[1:4]:
        region = Region(selected / 400)
        broken = [value(scores + rng.uniform(0, 0.5, size=550), labels, region) for _ in range(400)]
        error = np.std(broken) / math.sqrt(len(broken))
        assert value(scores, labels, region) == pytest.approx(np.mean(broken), abs=4 * error)
        cut = Region((selected + 3) / 400)
        tied = np.sum(negatives == negatives[selected])
        broken = [value(scores + rng.uniform(0, 0.5, size=550), labels, cut) for _ in range(400)]
        assert abs(value(scores, labels, cut) - np.mean(broken)) <= 1 / tied + 4 * error


@examples(250)
@given(
    counts=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=10),
    merged=st.lists(st.booleans(), min_size=10, max_size=10),
    region=st.sampled_from(REGIONS),
)
def test_rounding_never_raises_the_value_where_the_curve_is_concave(
    counts: list[tuple[int, int]], merged: list[bool], region: Region
) -> None:
    counts = [*counts, (8, 0), (8, 8), (0, 8)]
    # Levels in ascending order of their share of positives: the ROC curve's slope falls from left to right.
    counts = sorted(counts, key=lambda level: Fraction(level[0], max(sum(level), 1)))
    levels = np.arange(len(counts))
    rounded = levels - np.resize(merged, len(counts))  # some levels fall to the one below
    sizes = [p + n for p, n in counts]
    labels = np.concatenate([[1] * p + [0] * n for p, n in counts]).astype(np.int64)
    fine, coarse = (
        np.repeat(score.astype(float), sizes) for score in (levels, np.maximum.accumulate(rounded))
    )
    assert value(coarse, labels, region) <= value(fine, labels, region)


def test_converts_to_mcclish_also_where_the_edge_cuts_a_tie() -> None:
    for seed in range(5):
        scores, labels = draw(seed, 1, n_pos=40, n_neg=200)
        ratio = value(scores, labels, Region(0.15))  # a whole number of negatives
        assert convert_partial_auc(ratio, "ratio", "mcclish", max_fpr=0.15) == pytest.approx(
            roc_auc_score(labels, scores, max_fpr=0.15), abs=1e-12
        )


def test_ties_of_signed_zeros_and_of_the_smallest_numbers() -> None:
    labels = torch.tensor([1, 0, 1, 0])
    for zeros in (torch.tensor([0.0, -0.0, -0.0, 0.0]), torch.tensor([-0.0, 0.0, 0.0, -0.0])):
        assert binary_partial_auc(zeros, labels, max_fpr=0.5, min_tpr=0.5) == 0
        assert binary_partial_auc(zeros, labels, max_fpr=0.5) == 0.25
    for dtype in (torch.float16, torch.float32, torch.float64):
        smallest = (
            torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
        )  # denormal, and not a tie with zero
        scores = torch.tensor([smallest, 0.0, smallest, -smallest], dtype=dtype)
        assert binary_partial_auc(scores, labels, max_fpr=0.5) == 1
        scores = torch.tensor([smallest, smallest, 2 * smallest, 0.0], dtype=dtype)
        assert binary_partial_auc(scores, labels, max_fpr=0.5) == 0.75


def test_ties_at_the_edge_of_many_samples_are_exact() -> None:
    # 2e6 positives and 3e6 negatives, all tied: a third of the diagonal.
    labels = torch.arange(5_000_000) % 5 < 2
    scores = torch.zeros(5_000_000)
    assert binary_partial_auc(scores, labels, max_fpr=1 / 3).item() == 1_000_000 / 6_000_000
    # The line from (0, 0) to (3e6, 2e6) enters at y = 1e6, x = 1.5e6, and leaves at x = 2e6, y = 4e6/3.
    expected = Fraction(1, 2) * 500_000 * Fraction(1_000_000, 3) / (1_000_000 * 2_000_000)
    assert binary_partial_auc(scores, labels, max_fpr=2 / 3, min_tpr=0.5).item() == float(expected)


def test_billions_of_samples_do_not_overflow() -> None:
    n = 10**10
    # One bin of both classes over a bin of negatives: in counts a line to (n, n), then flat to (3n, n).
    value, lower, upper = partial_auc_from_counts([0, n], [2 * n, n], max_fpr=1 / 3)
    assert (float(value), float(lower), float(upper)) == (0.5, 0.0, 1.0)
    value, lower, upper = partial_auc_from_counts([0, n], [2 * n, n], max_fpr=2 / 3, min_tpr=0.5)
    assert (float(value), float(lower), float(upper)) == (0.625, 0.5, 1.0)
