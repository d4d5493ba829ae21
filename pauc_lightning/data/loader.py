"""Loaders: batches by one indexing operation, and a training loader that continues in the middle of an epoch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from pauc_lightning.data.dataset import InMemoryDataset
from pauc_lightning.data.sample import Sample, collate
from pauc_lightning.data.samplers import EpochBatchSampler, ShardedSampler
from pauc_lightning.errors import InputError
from pauc_lightning.rng import derive_seed


class BatchLoader(DataLoader[Sample]):
    """A ``DataLoader`` that takes batches of an :class:`InMemoryDataset` directly, if it has no workers.

    Without workers, fetching and collating by torch's own iterator takes several times as long as the indexing
    operation that makes a small batch. With workers, or with any other data set, torch's iterator does the work.
    """

    def __iter__(self) -> Iterator[Sample]:  # type: ignore[override]  # torch promises its private iterator class
        """The batches of one pass."""
        if not self._is_direct:
            return super().__iter__()
        if isinstance(self.sampler, ShardedSampler) and self.batch_size is not None and not self.drop_last:
            return map(self._fetch, torch.from_numpy(self.sampler.positions).split(self.batch_size))
        batches: Iterable[list[int]] = self.batch_sampler  # type: ignore[assignment]  # never None here
        return map(self._fetch, map(torch.tensor, batches))

    @property
    def _is_direct(self) -> bool:
        return self.num_workers == 0 and isinstance(self.dataset, InMemoryDataset)

    def _fetch(self, index: Tensor) -> Sample:
        dataset = self.dataset
        assert isinstance(dataset, InMemoryDataset)
        batch = dataset.batch(index)
        if not self.pin_memory:
            return batch
        return Sample(*(column.pin_memory() for column in batch if column is not None))


class ResumableLoader(BatchLoader):
    """A training loader whose ``state_dict`` holds its position: the epoch, and the batches done in it.

    Lightning stores the state of rank 0's loader and gives it to all ranks. Everything in it is therefore the
    same on all ranks: the epoch, the number of batches that the consumer has taken (not those that workers
    fetched ahead), and the sampler's plan, which must be the same when the state is loaded.

    The first iterator made after ``load_state_dict`` yields the rest of the interrupted epoch in the same order;
    later ones yield complete epochs. ``len()`` always counts a complete epoch, as Lightning's batch counter
    expects.

    Args:
        dataset: The training set. With ``__getitems__`` a batch is fetched by one call.
        batch_sampler: Decides which samples form a batch.
        num_workers: Processes that fetch batches ahead; 0 fetches in this process, which is best for data in memory.
        pin_memory: Whether batches are put in page-locked memory, for copies to a CUDA device.
    """

    batch_sampler: EpochBatchSampler

    def __init__(
        self,
        dataset: Dataset[Sample],
        batch_sampler: EpochBatchSampler,
        num_workers: int = 0,
        pin_memory: bool = False,
    ) -> None:
        super().__init__(
            dataset,
            batch_sampler=batch_sampler,
            num_workers=num_workers,
            persistent_workers=num_workers > 0,
            pin_memory=pin_memory,
            collate_fn=collate,
            generator=torch.Generator(),  # otherwise each epoch draws from the global generator
        )
        self._epoch = 0
        self._batches_done = 0
        self._resume_at: tuple[int, int] | None = None

    @property
    def position(self) -> tuple[int, int]:
        """The epoch, and how many of its batches the consumer has taken."""
        epoch = self.batch_sampler.epoch
        return epoch, self._batches_done if self._epoch == epoch else 0

    def __iter__(self) -> Iterator[Sample]:  # type: ignore[override]  # as above
        """The batches of the current epoch, or the rest of it after ``load_state_dict``."""
        resume_at, self._resume_at = self._resume_at, None
        return self._batches(resume_at)

    def _batches(self, resume_at: tuple[int, int] | None) -> Iterator[Sample]:
        # This runs at the first `next`, not at `iter`: Lightning sets the epoch in between, and workers that
        # started at once would fetch the batches of another epoch.
        epoch = self.batch_sampler.epoch
        done = resume_at[1] if resume_at is not None and resume_at[0] == epoch else 0
        for batch in self._epoch_from(done):
            done += 1
            self._epoch, self._batches_done = epoch, done
            yield batch

    def _epoch_from(self, done: int) -> Iterator[Sample]:
        """The batches of the current epoch without the first ``done``."""
        sampler = self.batch_sampler
        if self._is_direct:
            return map(self._fetch, map(torch.from_numpy, sampler.epoch_batches()[done:]))
        self.generator.manual_seed(derive_seed(sampler.seed, sampler.epoch))
        sampler.first_batch = done
        iterator = super().__iter__()
        sampler.first_batch = 0
        return iterator

    def state_dict(self) -> dict[str, Any]:
        """The position and the sampler's plan; the same on every rank."""
        epoch, batches_done = self.position
        return {"epoch": epoch, "batches_done": batches_done, "plan": self.batch_sampler.plan()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue at the position of the loader that returned ``state_dict``."""
        plan = self.batch_sampler.plan()
        saved: dict[str, int] = state_dict["plan"]
        different = [
            f"{key} was {saved.get(key)} and is {plan.get(key)}"
            for key in dict.fromkeys([*saved, *plan])
            if saved.get(key) != plan.get(key)
        ]
        if different:
            raise InputError(
                f"cannot continue epoch {state_dict['epoch']} after batch {state_dict['batches_done']}: this run "
                f"draws other batches, because {', '.join(different)}. Use the data, the `seed`, the "
                "`sampler`, the `positive_fraction` and the `batch_size` times the number of processes that "
                "the checkpoint was made with."
            )
        self._epoch, self._batches_done = state_dict["epoch"], state_dict["batches_done"]
        self.batch_sampler.set_epoch(self._epoch)
        self._resume_at = (self._epoch, self._batches_done)
