"""The long tail and the split, against the paper's counts and against tampering."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pauc_lightning.data.longtail import (
    binary_targets,
    check_both_kinds,
    long_tail_counts,
    split_long_tail,
)
from pauc_lightning.data.permutation import permutation, permutations
from pauc_lightning.errors import InputError

CIFAR10 = np.repeat(np.arange(10), 6000)


@pytest.mark.parametrize(("label", "n_pos", "n_neg"), [(2, 1508, 8907), (1, 2517, 7898), (3, 904, 9511)])
def test_the_papers_cifar10_counts(label: int, n_pos: int, n_neg: int) -> None:
    """Table of the paper, to within one image per class."""
    split = split_long_tail(CIFAR10, imbalance_ratio=0.01, seed=0)
    target = binary_targets(CIFAR10, [label])[split.train]
    assert abs(int(target.sum()) - n_pos) <= 1
    assert abs(int((1 - target).sum()) - n_neg) <= 9


def test_the_authors_logged_sizes_of_the_evaluation_parts() -> None:
    split = split_long_tail(CIFAR10, imbalance_ratio=0.01, seed=0)
    assert abs(len(split.val) - 2233) <= 10
    assert abs(len(split.test) - 2236) <= 10


def test_the_tail_of_equal_classes_ends_at_the_ratio_exactly() -> None:
    # 0.29 * 100 is 28.999... in floating point
    assert long_tail_counts([100, 100], 0.29) == [100, 29]
    assert long_tail_counts([600] * 100, 0.01)[::99] == [600, 6]


def test_a_class_never_gives_more_than_it_has() -> None:
    assert long_tail_counts([10, 1000, 3], 0.25) == [10, 500, 3]


def test_without_a_ratio_everything_is_kept() -> None:
    labels = np.array([3, 1, 1, 3, 3, 1, 7])
    split = split_long_tail(labels, imbalance_ratio=None, seed=5)
    assert sorted(np.concatenate([part for _, part in split.items()]).tolist()) == list(range(7))


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=2, max_size=6),
    ratio=st.one_of(st.none(), st.floats(0.01, 1)),
    seed=st.integers(0, 2**31),
)
def test_no_sample_is_in_two_parts_and_classes_are_divided_alike(
    sizes: list[int], ratio: float | None, seed: int
) -> None:
    labels = np.repeat(np.arange(len(sizes)), sizes)
    split = split_long_tail(labels, ratio, seed)
    everything = np.concatenate([part for _, part in split.items()])
    assert len(set(everything.tolist())) == len(everything)
    for label, n in enumerate(long_tail_counts(sizes, ratio)):
        train, val, test = (int((labels[part] == label).sum()) for _, part in split.items())
        assert train + val + test == n
        assert train == n * 7 // 10
        assert val == n * 15 // 100


def test_a_class_keeps_its_split_when_another_class_is_added() -> None:
    labels = np.repeat([0, 1, 2], 40)
    small = split_long_tail(labels[:80], None, seed=3)
    large = split_long_tail(labels, None, seed=3)
    for (_, before), (_, after) in zip(small.items(), large.items(), strict=True):
        np.testing.assert_array_equal(before, after[after < 80])


def test_the_seed_decides_the_split() -> None:
    labels = np.repeat([0, 1], 200)
    first, again, other = (split_long_tail(labels, 0.5, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.train, again.train)
    assert set(first.train.tolist()) != set(other.train.tolist())
    # classes have streams of their own: the same positions in both classes would be a shared one
    assert set(first.val[first.val < 200].tolist()) != set((first.val[first.val >= 200] - 200).tolist())


def test_every_sample_is_kept_equally_often() -> None:
    labels = np.repeat([0, 1], 20)
    kept = np.zeros(40)
    for seed in range(400):
        split = split_long_tail(labels, 0.5, seed)
        for _, part in split.items():
            kept[part] += 1
    assert (kept[:20] == 400).all()
    assert kept[20:].min() > 150  # expectation 200, standard deviation 10
    assert kept[20:].max() < 250


def test_permutations_are_uniform() -> None:
    counts = np.zeros((4, 4))
    for key in range(4000):
        counts[np.arange(4), permutation(4, 0, key)] += 1
    assert np.abs(counts / 4000 - 0.25).max() < 0.04  # six standard deviations


@pytest.mark.parametrize("n", [0, 1, 9, 50_000])
def test_permutations_are_numpys_stable_order_of_the_raw_stream(n: int) -> None:
    bits = np.random.PCG64(np.random.SeedSequence(5, spawn_key=(2, 9))).random_raw(3 * n).reshape(3, n)
    assert np.array_equal(permutations(3, n, 5, 2, 9), np.argsort(bits, axis=1, kind="stable"))
    bits = np.random.PCG64(np.random.SeedSequence(5, spawn_key=(2,))).random_raw(n)
    assert np.array_equal(permutation(n, 5, 2), np.argsort(bits, kind="stable"))


def test_errors_say_what_to_do() -> None:
    labels = np.repeat(np.arange(10), 5)
    with pytest.raises(InputError, match=r"unknown ids \[10, 12\]: choose from classes 0 to 9"):
        binary_targets(labels, [1, 12, 10])
    with pytest.raises(InputError, match=r"unknown ids \[1\]: choose from classes \[?2, 5"):
        binary_targets(np.array([2, 5]), [1])
    with pytest.raises(InputError, match="names every class"):
        binary_targets(labels, range(10))
    with pytest.raises(InputError, match="the data set has no samples"):
        split_long_tail(np.array([], dtype=np.int64), None, 0)
    with pytest.raises(InputError, match="is empty"):
        binary_targets(labels, [])
    for ratio in (0.0, -0.1, 1.5, float("nan")):
        with pytest.raises(InputError, match=r"`imbalance_ratio` must be a finite number in \(0, 1\], got"):
            long_tail_counts([5, 5], ratio)


def test_a_part_without_positives_is_refused_by_name() -> None:
    labels = np.repeat([0, 1], [100, 6])  # of six, four train, none validates, two test
    split = split_long_tail(labels, None, 0)
    with pytest.raises(InputError, match=r"the val part has no positives \(of 15 samples\)"):
        check_both_kinds(split, binary_targets(labels, [1]))
    with pytest.raises(InputError, match="the val part has no negatives"):
        check_both_kinds(split, binary_targets(labels, [0]))
