"""Batches: their composition, their shares over the ranks, and what they must not touch."""

from __future__ import annotations

import random
from collections import Counter
from itertools import chain

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader, TensorDataset

from pauc_lightning.data.samplers import (
    ShardedSampler,
    ShuffledBatchSampler,
    StratifiedBatchSampler,
)
from pauc_lightning.errors import InputError

Kind = type[StratifiedBatchSampler] | type[ShuffledBatchSampler]


def make_labels(n_pos: int, n_neg: int) -> list[int]:
    """Positives spread among the negatives."""
    labels = [1] * n_pos + [0] * n_neg
    random.Random(0).shuffle(labels)
    return labels


SIZES = {
    "n_pos": st.integers(1, 40),
    "n_neg": st.integers(1, 300),
    "batch_size": st.integers(2, 70),
    "fraction": st.one_of(st.none(), st.floats(0.01, 0.99)),
    "n_ranks": st.integers(1, 4),
    "epoch": st.integers(0, 3),
}


@settings(deadline=None)
@given(**SIZES)
def test_stratified_epochs(
    n_pos: int, n_neg: int, batch_size: int, fraction: float | None, n_ranks: int, epoch: int
) -> None:
    """Every promise of the sampler, for arbitrary sizes."""
    labels = make_labels(n_pos, n_neg)
    ranks = []
    for rank in range(n_ranks):
        sampler = StratifiedBatchSampler(labels, batch_size, fraction, 3, n_ranks, rank)
        sampler.set_epoch(epoch)
        ranks.append(list(sampler))
        assert len(ranks[-1]) == len(sampler)
    assert len({len(batches) for batches in ranks}) == 1  # equal batch counts

    union = [list(chain(*parts)) for parts in zip(*ranks, strict=True)]
    drawn = list(chain(*union))
    negatives = [i for i in drawn if labels[i] == 0]
    assert sorted(negatives) == [i for i, label in enumerate(labels) if label == 0]  # each exactly once

    per_batch = {sum(labels[i] for i in batch) for batch in union}
    assert per_batch == {sampler.positives_per_batch}  # fixed
    uses = Counter(i for i in drawn if labels[i] == 1)
    total = sampler.positives_per_batch * len(sampler)
    assert sum(uses.values()) == total
    assert all(
        uses[i] in (total // n_pos, -(-total // n_pos)) for i, label in enumerate(labels) if label == 1
    )

    sizes = [len(batch) for batch in union]
    assert max(sizes) - min(sizes) <= 1
    for parts in zip(*ranks, strict=True):
        lengths = [len(part) for part in parts]
        assert max(lengths) - min(lengths) <= 1
        assert max(lengths) <= batch_size
        assert all(any(labels[i] == 1 for i in part) for part in parts)  # every rank sees positives
        if sampler.positives_per_batch <= n_pos:  # enough for all: disjoint, no repetition
            assert len(set(chain(*parts))) == sum(lengths)

    assert sampler.positive_fraction == pytest.approx(sum(labels[i] for i in drawn) / len(drawn))


@settings(deadline=None)
@given(**SIZES)
def test_ranks_together_are_one_process(
    n_pos: int, n_neg: int, batch_size: int, fraction: float | None, n_ranks: int, epoch: int
) -> None:
    labels = make_labels(n_pos, n_neg)
    one = StratifiedBatchSampler(labels, batch_size * n_ranks, fraction, 3)
    many = [StratifiedBatchSampler(labels, batch_size, fraction, 3, n_ranks, rank) for rank in range(n_ranks)]
    wanted = n_pos / len(labels) if fraction is None else fraction
    if min(one.positives_per_batch, wanted * batch_size * n_ranks) < n_ranks:
        return  # one process may do with fewer positives than there are ranks
    for sampler in (one, *many):
        sampler.set_epoch(epoch)
    union = [sorted(chain(*parts)) for parts in zip(*many, strict=True)]
    assert union == [sorted(batch) for batch in one]


@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_the_requested_fraction_comes_true(n_ranks: int) -> None:
    labels = make_labels(100, 2900)
    for fraction in (0.05, 0.25, 0.5, 0.9):
        sampler = StratifiedBatchSampler(labels, 64, fraction, 0, n_ranks, 0)
        assert sampler.positive_fraction == pytest.approx(fraction, abs=0.5 / 50)


def test_by_default_the_fraction_is_that_of_the_data() -> None:
    sampler = StratifiedBatchSampler(make_labels(100, 900), 100)
    assert [len(batch) for batch in sampler] == [100] * 10
    assert sampler.positives_per_batch == 10
    assert sampler.positive_fraction == 0.1
    # DigitsLT: five batches of 128 hold 640 samples; 21 positives and 108 negatives would not fit
    sampler = StratifiedBatchSampler(make_labels(104, 536), 128)
    assert [len(batch) for batch in sampler] == [128, 127, 127, 127, 127]
    assert sampler.positives_per_batch == 20


def test_a_batch_larger_than_the_data_is_the_data() -> None:
    sampler = StratifiedBatchSampler(make_labels(30, 70), batch_size=1000)
    (batch,) = sampler
    assert sorted(batch) == list(range(100))


def test_a_class_smaller_than_its_share_is_recycled_within_the_batch() -> None:
    labels = make_labels(3, 100)
    sampler = StratifiedBatchSampler(labels, batch_size=20, positive_fraction=0.5)
    for batch in sampler:
        uses = Counter(i for i in batch if labels[i] == 1)
        assert sum(uses.values()) == 10
        assert len(uses) == 3


@pytest.mark.parametrize("kind", [StratifiedBatchSampler, ShuffledBatchSampler])
def test_seed_and_epoch_decide_the_order(kind: Kind) -> None:
    labels = make_labels(20, 180)

    def order(seed: int, epoch: int) -> list[list[int]]:
        sampler = kind(labels, 32, seed=seed)
        sampler.set_epoch(epoch)
        return list(sampler)

    orders = [order(seed, epoch) for seed in (0, 1) for epoch in (0, 1)]
    assert order(0, 0) == orders[0]
    assert len({str(batches) for batches in orders}) == 4
    # another order in another epoch means another composition of the batches, not only another sequence
    assert {frozenset(batch) for batch in orders[0]}.isdisjoint(frozenset(batch) for batch in orders[1])


@pytest.mark.parametrize("kind", [StratifiedBatchSampler, ShuffledBatchSampler])
def test_no_global_generator_is_touched_or_used(kind: Kind) -> None:
    labels = make_labels(20, 180)
    orders = []
    for global_seed in (0, 1):
        torch.manual_seed(global_seed)
        np.random.seed(global_seed)  # noqa: NPY002  # the global generator is what this test is about
        random.seed(global_seed)
        states = torch.get_rng_state(), np.random.get_state(legacy=True), random.getstate()  # noqa: NPY002
        orders.append(list(kind(labels, 32)))
        assert torch.equal(torch.get_rng_state(), states[0])
        np.testing.assert_equal(np.random.get_state(legacy=True), states[1])  # noqa: NPY002
        assert random.getstate() == states[2]
    assert orders[0] == orders[1]


def test_lightning_finds_set_epoch() -> None:
    from lightning.fabric.utilities.data import _set_sampler_epoch

    sampler = StratifiedBatchSampler(make_labels(5, 20), 10)
    loader = DataLoader(TensorDataset(torch.zeros(25)), batch_sampler=sampler)
    _set_sampler_epoch(loader, 7)
    assert sampler.epoch == 7


@settings(deadline=None)
@given(
    n=st.integers(1, 200), batch_size=st.integers(1, 50), n_ranks=st.integers(1, 4), epoch=st.integers(0, 2)
)
def test_shuffled_epochs(n: int, batch_size: int, n_ranks: int, epoch: int) -> None:
    labels = [0] * n
    if n < n_ranks:
        with pytest.raises(InputError, match="use fewer devices"):
            ShuffledBatchSampler(labels, batch_size, 0, n_ranks, 0)
        return
    ranks = []
    for rank in range(n_ranks):
        sampler = ShuffledBatchSampler(labels, batch_size, 0, n_ranks, rank)
        sampler.set_epoch(epoch)
        ranks.append(list(sampler))
        assert len(ranks[-1]) == len(sampler)
    assert len({len(batches) for batches in ranks}) == 1
    assert sorted(chain(*chain(*ranks))) == list(range(n))
    sizes = [len(batch) for batch in chain(*ranks)]
    assert min(sizes) >= 1
    assert max(sizes) <= max(batch_size, 2)
    union = [list(chain(*parts)) for parts in zip(*ranks, strict=True)]
    one = ShuffledBatchSampler(labels, batch_size * n_ranks, 0)
    one.set_epoch(epoch)
    if len(one) == len(sampler):
        assert union == list(one)
    else:  # only where one process could use batches smaller than the number of ranks
        assert min(len(batch) for batch in one) < n_ranks


def test_shuffled_prior_is_that_of_the_data() -> None:
    assert ShuffledBatchSampler(make_labels(5, 20), 10).positive_fraction == 0.2


@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize(("n", "n_ranks"), [(10, 1), (10, 2), (11, 3), (2, 3)])
def test_evaluation_shards_cover_everything_once(n: int, n_ranks: int, seed: int | None) -> None:
    shards = [list(ShardedSampler(n, n_ranks, rank, seed)) for rank in range(n_ranks)]
    assert sorted(chain(*shards)) == list(range(n))
    sizes = [len(ShardedSampler(n, n_ranks, rank, seed)) for rank in range(n_ranks)]
    assert sizes == [len(shard) for shard in shards]
    assert max(sizes) - min(sizes) <= 1


def test_errors_say_what_to_do() -> None:
    with pytest.raises(InputError, match="`labels` has no positives"):
        StratifiedBatchSampler([0, 0, 0], 2)
    with pytest.raises(InputError, match="`labels` has no negatives"):
        StratifiedBatchSampler([1, 1], 2)
    with pytest.raises(InputError, match=r"`batch_size` must be at least 2 .* got 1"):
        StratifiedBatchSampler([0, 1], 1)
    with pytest.raises(InputError, match="`batch_size` must be a whole number, at least 1, got 0"):
        ShuffledBatchSampler([0, 1], 0)
    for fraction in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(InputError, match=r"`positive_fraction` must be a finite number in \(0, 1\), got"):
            StratifiedBatchSampler([0, 1], 2, fraction)
    with pytest.raises(InputError, match="`seed` must be a whole number, at least 0, got -1"):
        StratifiedBatchSampler([0, 1], 2, seed=-1)
    with pytest.raises(InputError, match=r"`rank` must be in range\(num_replicas\) = range\(2\), got 2"):
        StratifiedBatchSampler([0, 1], 2, num_replicas=2, rank=2)
    for sampler in (StratifiedBatchSampler, ShuffledBatchSampler):
        with pytest.raises(InputError, match=r"`labels` must be a list of 0 and 1, got \[-1, 2\]"):
            sampler([0, 1, 2, -1, 2], 2)
        with pytest.raises(InputError, match=r"`labels` must be a list of 0 and 1, got \['2 axes'\]"):
            sampler(np.zeros((2, 2), dtype=np.int64), 2)
        with pytest.raises(InputError, match="`seed` must be a whole number, at least 0, got True"):
            sampler([0, 1], 2, seed=True)
        with pytest.raises(InputError, match="`num_replicas` must be a whole number, at least 1, got 0"):
            sampler([0, 1], 2, num_replicas=0)
    with pytest.raises(InputError, match="`n` must be a whole number"):
        ShardedSampler(-1)
    with pytest.raises(InputError, match=r"`rank` must be in range\(num_replicas\) = range\(1\), got 1"):
        ShardedSampler(5, rank=1)


def test_a_huge_seed_and_a_batch_larger_than_the_data_work() -> None:
    for sampler in (StratifiedBatchSampler, ShuffledBatchSampler):
        (batch,) = sampler([0, 1, 0], 10**12, seed=2**200)
        assert sorted(batch) == [0, 1, 2]
