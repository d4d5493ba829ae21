"""A training loader that continues in the middle of an epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from pauc_lightning.data.sample import Sample, collate
from pauc_lightning.data.samplers import EpochBatchSampler
from pauc_lightning.errors import InputError
from pauc_lightning.rng import derive_seed


class ResumableLoader(DataLoader[Sample]):
    """A ``DataLoader`` whose ``state_dict`` says where in which epoch it is.

    Lightning stores the state of rank 0's loader and gives it to all ranks. Everything in it is therefore the
    same on all ranks: the epoch, how many batches the consumer took (whatever the workers fetched ahead), and
    the sampler's plan, which must be the same when the state is loaded.

    The first iterator made after ``load_state_dict`` yields what the interrupted epoch still had to give, in
    the same order; later ones yield complete epochs. ``len()`` is always that of a complete epoch, as
    Lightning's batch counter expects.

    Args:
        dataset: The training set. With ``__getitems__`` a batch is fetched by one call.
        batch_sampler: Says which samples form a batch.
        num_workers: Processes that fetch batches ahead; 0 fetches in this process, best for data in memory.
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

    def __iter__(self) -> Iterator[Sample]:  # type: ignore[override]  # torch promises its private iterator class
        """The batches of the current epoch, or what is left of it after ``load_state_dict``."""
        resume_at, self._resume_at = self._resume_at, None
        return self._batches(resume_at)

    def _batches(self, resume_at: tuple[int, int] | None) -> Iterator[Sample]:
        # This runs at the first `next`, not at `iter`: Lightning sets the epoch in between, and workers that
        # had started at once would fetch the batches of another epoch.
        sampler = self.batch_sampler
        epoch = sampler.epoch
        done = resume_at[1] if resume_at is not None and resume_at[0] == epoch else 0
        self.generator.manual_seed(derive_seed(sampler.seed, epoch))
        sampler.first_batch = done
        iterator = super().__iter__()
        sampler.first_batch = 0
        for batch in iterator:
            done += 1
            self._epoch, self._batches_done = epoch, done
            yield batch

    def state_dict(self) -> dict[str, Any]:
        """The position and the sampler's plan; the same on every rank."""
        epoch, batches_done = self.position
        return {"epoch": epoch, "batches_done": batches_done, "plan": self.batch_sampler.plan()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue where the loader that gave ``state_dict`` was."""
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
