"""Samplers: which samples form a batch, on one process or on several."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Sampler

from pauc_lightning.arguments import check_integer, check_number
from pauc_lightning.data.permutation import permutation, permutations
from pauc_lightning.errors import InputError

_NEGATIVES, _POSITIVES, _ALL, _EVALUATION = 1, 2, 3, 4  # random streams; 0 belongs to the splits


class EpochBatchSampler(Sampler[list[int]], ABC):
    """Base of the training samplers: an epoch is a list of *global* batches, and each rank takes its share of each.

    The global batches depend only on the seed, the epoch and ``batch_size * num_replicas``: N processes together
    see the same batches as one process with an N times larger ``batch_size``.

    Args:
        batch_size: Samples per batch and process, at most.
        seed: Decides the order together with the epoch; not negative.
        num_replicas: Number of processes that train together.
        rank: This process's number in ``range(num_replicas)``.
    """

    def __init__(self, batch_size: int, seed: int, num_replicas: int, rank: int) -> None:
        check_integer("batch_size", batch_size, at_least=1)
        check_integer("seed", seed, at_least=0)
        _check_rank(num_replicas, rank)
        self.batch_size = batch_size
        self.seed = seed
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.first_batch = 0

    @property
    def sampler(self) -> EpochBatchSampler:
        """This object: Lightning looks for ``set_epoch`` on ``loader.batch_sampler.sampler``."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next iteration."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        """This rank's batches of the current epoch, from ``first_batch`` on.

        The order is fixed when the iterator is made, not when it is first used.
        """
        return (batch.tolist() for batch in self.epoch_batches()[self.first_batch :])

    def epoch_batches(self) -> list[NDArray[np.int64]]:
        """All of this rank's batches of the current epoch, as arrays of positions in the training set."""
        return self._rank_batches(self.epoch)

    @property
    @abstractmethod
    def positive_fraction(self) -> float:
        """The fraction of positives in the batches, which the objectives use as the prior."""

    @abstractmethod
    def plan(self) -> dict[str, int]:
        """The quantities that decide the global batches apart from the epoch: equal plans mean equal batches."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of batches per epoch, the same on every rank."""

    @abstractmethod
    def _rank_batches(self, epoch: int) -> list[NDArray[np.int64]]: ...

    def _share(self, batch: NDArray[np.int64], rank: int) -> NDArray[np.int64]:
        """``np.array_split(batch, num_replicas)[rank]``, without making the other shares."""
        size, longer = divmod(len(batch), self.num_replicas)
        start = rank * size + min(rank, longer)
        return batch[start : start + size + (rank < longer)]


class StratifiedBatchSampler(EpochBatchSampler):
    """Batches with a fixed number of positives; all negatives once per epoch, the positives recycled evenly.

    An epoch has as few batches as ``batch_size`` allows. The negatives are spread evenly over them (there is
    no small last batch), and each batch gets the number of positives that comes closest to ``positive_fraction``.
    Within an epoch, all positives are used equally often, give or take one; a global batch holds each positive at
    most once if there are enough of them. Every rank gets positives, the same number in every batch.

    Args:
        labels: 1 for positives, 0 for negatives, one per training sample.
        batch_size: Samples per batch and process, at most.
        positive_fraction: Fraction of positives in a batch, in (0, 1); by default, the fraction in ``labels``.
        seed: Decides the order together with the epoch; not negative.
        num_replicas: Number of processes that train together.
        rank: This process's number in ``range(num_replicas)``.

    Example:
        >>> labels = [0] * 12 + [1] * 3
        >>> sampler = StratifiedBatchSampler(labels, batch_size=8, positive_fraction=0.25)
        >>> [sum(labels[i] for i in batch) for batch in sampler], [len(batch) for batch in sampler]
        ([2, 2], [8, 8])
    """

    def __init__(
        self,
        labels: Sequence[int] | NDArray[np.int64],
        batch_size: int,
        positive_fraction: float | None = None,
        seed: int = 0,
        num_replicas: int = 1,
        rank: int = 0,
    ) -> None:
        super().__init__(batch_size, seed, num_replicas, rank)
        is_positive = _is_positive(labels)
        self.positives = np.flatnonzero(is_positive)
        self.negatives = np.flatnonzero(~is_positive)
        for kind, members in (("positives", self.positives), ("negatives", self.negatives)):
            if len(members) == 0:
                raise InputError(f"`labels` has no {kind}: stratified batches need both kinds.")
        if positive_fraction is None:
            positive_fraction = len(self.positives) / len(is_positive)
        check_positive_fraction(positive_fraction)
        if batch_size < 2:
            raise InputError(
                f"`batch_size` must be at least 2 for stratified batches, got {batch_size!r}: a batch needs "
                "room for a positive and a negative."
            )
        size, n_neg = batch_size * num_replicas, len(self.negatives)
        # The smallest number of batches with room for all negatives and the positives, at least one per rank.
        room = min(size * (1 - positive_fraction), size - num_replicas)
        self._n_batches = min(max(math.ceil(n_neg / room - 1e-9), 1), n_neg)
        wanted = round(n_neg / self._n_batches * positive_fraction / (1 - positive_fraction))
        largest = size - math.ceil(n_neg / self._n_batches)
        self.positives_per_batch = max(num_replicas, min(wanted, largest))

    @property
    def positive_fraction(self) -> float:
        """The fraction of positives among the samples of an epoch's batches, exactly."""
        drawn = self.positives_per_batch * self._n_batches
        return drawn / (drawn + len(self.negatives))

    def plan(self) -> dict[str, int]:
        """Seed, numbers of samples, and the composition of the global batches."""
        return {
            "seed": self.seed,
            "positives": len(self.positives),
            "negatives": len(self.negatives),
            "positives_per_batch": self.positives_per_batch,
            "batches_per_epoch": self._n_batches,
        }

    def __len__(self) -> int:
        """Number of batches per epoch, the same on every rank."""
        return self._n_batches

    def _rank_batches(self, epoch: int) -> list[NDArray[np.int64]]:
        order = self.negatives[permutation(len(self.negatives), self.seed, _NEGATIVES, epoch)]
        batches = zip(
            np.split(self._positive_stream(epoch), self._n_batches),
            np.array_split(order, self._n_batches),
            strict=True,
        )
        # Left-over positives go to the first ranks and left-over negatives to the last ones, so that the
        # batches of the ranks differ by one sample at most.
        mirrored = self.num_replicas - 1 - self.rank
        return [
            np.concatenate([self._share(positives, self.rank), self._share(negatives, mirrored)])
            for positives, negatives in batches
        ]

    def _positive_stream(self, epoch: int) -> NDArray[np.int64]:
        """The positives of an epoch: one permutation after the other, as many as the batches need."""
        n, per_batch = len(self.positives), self.positives_per_batch
        needed = per_batch * self._n_batches
        rounds = permutations(math.ceil(needed / n), n, self.seed, _POSITIVES, epoch)
        if n >= per_batch:
            for i in range(1, len(rounds)):
                # The batch that the previous permutation left open must not get the same positive twice.
                open_places = -(i * n) % per_batch
                present = rounds[i - 1, n - (per_batch - open_places) :]
                head = rounds[i][~np.isin(rounds[i], present)][:open_places]
                rounds[i] = np.concatenate([head, rounds[i][~np.isin(rounds[i], head)]])
        return self.positives[rounds.flatten()[:needed]]


class ShuffledBatchSampler(EpochBatchSampler):
    """Plain shuffling: every sample once per epoch, in batches whose sizes differ by at most one.

    Args:
        labels: 1 for positives, 0 for negatives, one per training sample.
        batch_size: Samples per batch and process, at most (if there are that many per process).
        seed: Decides the order together with the epoch; not negative.
        num_replicas: Number of processes that train together.
        rank: This process's number in ``range(num_replicas)``.

    Example:
        >>> [len(batch) for batch in ShuffledBatchSampler([0, 1] * 5, batch_size=4)]
        [4, 3, 3]
    """

    def __init__(
        self,
        labels: Sequence[int] | NDArray[np.int64],
        batch_size: int,
        seed: int = 0,
        num_replicas: int = 1,
        rank: int = 0,
    ) -> None:
        super().__init__(batch_size, seed, num_replicas, rank)
        is_positive = _is_positive(labels)
        self._n, self._n_pos = len(is_positive), int(is_positive.sum())
        if self._n < num_replicas:
            raise InputError(
                f"{self._n} training samples cannot be shared by {num_replicas} processes: use fewer devices."
            )
        # A batch of fewer samples than ranks would leave a rank with an empty batch.
        self._n_batches = min(math.ceil(self._n / (batch_size * num_replicas)), self._n // num_replicas)

    @property
    def positive_fraction(self) -> float:
        """The fraction of positives in the training set; single batches vary around it."""
        return self._n_pos / self._n

    def plan(self) -> dict[str, int]:
        """Seed, number of samples and number of batches."""
        return {"seed": self.seed, "samples": self._n, "batches_per_epoch": self._n_batches}

    def __len__(self) -> int:
        """Number of batches per epoch, the same on every rank."""
        return self._n_batches

    def _rank_batches(self, epoch: int) -> list[NDArray[np.int64]]:
        order = permutation(self._n, self.seed, _ALL, epoch)
        batches = np.array_split(order, self._n_batches)
        return [self._share(batch, self.rank) for batch in batches]


class ShardedSampler(Sampler[int]):
    """Every ``num_replicas``-th sample from ``rank`` on: disjoint evaluation shards without padding.

    ``DistributedSampler`` repeats samples to make the shards equally long, which changes a partial AUC. These
    shards differ by one sample at most, and are empty on some ranks if there are fewer samples than ranks.

    Args:
        n: Number of samples.
        num_replicas: Number of processes that evaluate together.
        rank: This process's number in ``range(num_replicas)``.
        seed: Decides the order, which is the same on every pass. Shuffled batches of samples that are sorted by
            class contain all classes. None keeps the order of the samples.

    Example:
        >>> [list(ShardedSampler(5, num_replicas=2, rank=rank)) for rank in range(2)]
        [[0, 2, 4], [1, 3]]
    """

    def __init__(self, n: int, num_replicas: int = 1, rank: int = 0, seed: int | None = None) -> None:
        check_integer("n", n, at_least=0)
        _check_rank(num_replicas, rank)
        if seed is not None:
            check_integer("seed", seed, at_least=0)
        order = np.arange(n) if seed is None else permutation(n, seed, _EVALUATION)
        self.positions: NDArray[np.int64] = order[rank::num_replicas].copy()
        """This rank's samples, in order."""

    def __iter__(self) -> Iterator[int]:
        """This rank's samples."""
        return iter(self.positions.tolist())

    def __len__(self) -> int:
        """Number of samples of this rank."""
        return len(self.positions)


def check_positive_fraction(positive_fraction: Any) -> None:
    """Refuse anything but a number strictly between 0 and 1."""
    hint = "0.5 makes half of each batch positives; null (None) takes the fraction of the training set"
    check_number("positive_fraction", positive_fraction, above=0, below=1, hint=hint)


def _check_rank(num_replicas: int, rank: int) -> None:
    check_integer("num_replicas", num_replicas, at_least=1)
    if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)) or not 0 <= rank < num_replicas:
        raise InputError(f"`rank` must be in range(num_replicas) = range({num_replicas}), got {rank!r}.")


def _is_positive(labels: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where the labels are 1; refuses values other than 0 and 1, which would count as negatives."""
    values = np.asarray(labels)
    is_positive: NDArray[np.bool_] = values == 1
    others = (
        np.unique(values[~is_positive & (values != 0)]).tolist()
        if values.ndim == 1
        else [f"{values.ndim} axes"]
    )
    if others:
        raise InputError(
            f"`labels` must be a list of 0 and 1, got {others[:5]}: use 1 for positives, 0 for negatives."
        )
    return is_positive
