"""The base class of the data modules: from classes to long-tailed binary batches."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from lightning.pytorch import LightningDataModule
from numpy.typing import NDArray
from torch import Tensor

from pauc_lightning.arguments import check_integer, check_path
from pauc_lightning.data.dataset import InMemoryDataset
from pauc_lightning.data.loader import BatchLoader, ResumableLoader
from pauc_lightning.data.longtail import (
    Split,
    binary_targets,
    check_both_kinds,
    check_classes,
    check_imbalance_ratio,
    check_whole_groups,
    class_ids,
    split_long_tail,
)
from pauc_lightning.data.permutation import permutation
from pauc_lightning.data.preprocessing import load_preprocessing
from pauc_lightning.data.sample import collate
from pauc_lightning.data.samplers import (
    EpochBatchSampler,
    ShardedSampler,
    ShuffledBatchSampler,
    StratifiedBatchSampler,
    check_positive_fraction,
)
from pauc_lightning.data.source import Inputs, NewData, Source
from pauc_lightning.data.splits import fingerprint, load_split, parts_fingerprint, save_split
from pauc_lightning.errors import InputError
from pauc_lightning.rng import seeded

Part = Literal["train", "val", "test"]

LARGEST_NUM_WORKERS = 1024
"""Largest ``num_workers``: more processes could bring a machine down."""

_SCORING = 5  # random stream; 0 to 4 belong to the splits and the samplers


class ClassCounts(NamedTuple):
    """How many samples of a class are in each part."""

    label: int
    is_positive: bool
    train: int
    val: int
    test: int


class LongTailDataModule(LightningDataModule, ABC):
    """Long-tailed binary data: one seed decides the long tail, the 0.7/0.15/0.15 split of each class, and the batches.

    A subclass reads the data in :meth:`load_source` and may transform whole batches on the accelerator in
    :meth:`train_transform` and :meth:`eval_transform`. Batches are :class:`Sample` tuples.

    Args:
        positive_classes: Ids or names of the classes that are positive; all others are negative.
        imbalance_ratio: Ratio of the last class's size to the first's, in (0, 1]; the classes between shrink
            exponentially in the order of their ids. null keeps every sample.
        batch_size: Training samples per batch and process, at most.
        eval_batch_size: Validation and test samples per batch and process.
        sampler: "stratified" puts the same number of positives in every batch and goes through the negatives
            once per epoch; "shuffled" goes through all samples once per epoch.
        positive_fraction: Fraction of positives in stratified batches, in (0, 1); null uses the fraction in the
            training set.
        seed: Decides the long tail, the split, the order of the batches and the augmentation.
        num_workers: Processes that fetch batches ahead; 0 is fastest for data in memory.
        predict_part: The part that predict scores.
        split_file: A split written by `pauc data --export`; it replaces the one that `imbalance_ratio` and `seed`
            would give.
        predict_input: New data that predict scores instead of `predict_part`: a file for tables, a folder for images.
            `pauc predict <run> --input <file>` sets it.
        preprocessing: The `preprocessing.json` of the run that trained the model. It says how new data become inputs,
            so that the training data are not needed.
    """

    def __init__(
        self,
        positive_classes: Sequence[int | str],
        imbalance_ratio: float | None = None,
        batch_size: int = 128,
        eval_batch_size: int = 1024,
        sampler: Literal["stratified", "shuffled"] = "stratified",
        positive_fraction: float | None = None,
        seed: int = 0,
        num_workers: int = 0,
        predict_part: Part = "test",
        split_file: str | None = None,
        predict_input: str | None = None,
        preprocessing: str | None = None,
    ) -> None:
        super().__init__()
        if predict_part not in get_args(Part):
            raise InputError(f"`predict_part` must be one of {get_args(Part)}, got {predict_part!r}.")
        if sampler not in ("stratified", "shuffled"):
            raise InputError(f'`sampler` must be "stratified" or "shuffled", got {sampler!r}.')
        if sampler == "shuffled" and positive_fraction is not None:
            raise InputError(
                f'`positive_fraction={positive_fraction!r}` has no effect with `sampler="shuffled"`: use '
                '`sampler="stratified"` or leave `positive_fraction` null.'
            )
        check_integer("batch_size", batch_size, at_least=1)
        check_integer("eval_batch_size", eval_batch_size, at_least=1)
        check_integer("seed", seed, at_least=0)
        check_integer("num_workers", num_workers, at_least=0, at_most=LARGEST_NUM_WORKERS)
        check_classes(positive_classes)
        check_imbalance_ratio(imbalance_ratio)
        if positive_fraction is not None:
            check_positive_fraction(positive_fraction)
        if split_file is not None:
            check_path("split_file", split_file)
        self.positive_classes = tuple(positive_classes)
        self.imbalance_ratio = imbalance_ratio
        self.batch_size = batch_size
        self.eval_batch_size = eval_batch_size
        self.sampler = sampler
        self.positive_fraction = positive_fraction
        self.seed = seed
        self.num_workers = num_workers
        self.predict_part = predict_part
        self.split_file = split_file
        self.predict_input = predict_input
        self.preprocessing = preprocessing

    # ------------------------------------------------------------------ hooks of subclasses

    @abstractmethod
    def load_source(self) -> Source:
        """Read the data set. Called once per process, possibly before a Trainer exists."""

    def train_transform(self, input: Tensor) -> Tensor:
        """Augment and scale a training batch on its device; its position in the run seeds the random numbers."""
        return self.eval_transform(input)

    def eval_transform(self, input: Tensor) -> Tensor:
        """Scale a validation or test batch on its device."""
        return input

    def load_new(self, path: Path) -> NewData:
        """Read new data that a trained model is to score."""
        raise InputError(
            f"`predict_input={path}`: {type(self).__name__} reads no new data. Tables (TabularLT) and images do; in a "
            "class of your own, define `load_new`."
        )

    def notes(self) -> list[str]:
        """What else ``pauc data`` says about the data set, in sentences."""
        groups = self.source.groups
        if groups is None:
            return []
        _, sizes = np.unique(groups[self.used], return_counts=True)
        return [
            f"Groups: {len(sizes):,}, the largest of {int(sizes.max()):,} samples. Each is in one part, and the parts "
            "are as near to 0.7, 0.15 and 0.15 of each class as this allows."
        ]

    def training_state(self) -> dict[str, Any]:
        """The facts about the training data that a run stores in ``preprocessing.json`` to score new data."""
        return {
            "data": type(self).__name__,
            "train_size": self.train_size,
            "prior": self.prior,
            "input_shape": list(self.input_shape),
            "parts": parts_fingerprint(self._fingerprint, self.split, self.targets),
        }

    # ------------------------------------------------------------------ properties of the data

    @cached_property
    def saved_state(self) -> dict[str, Any] | None:
        """The :meth:`training_state` of the run that trained the model, if ``preprocessing`` names its file."""
        return None if self.preprocessing is None else load_preprocessing(Path(self.preprocessing))

    @cached_property
    def source(self) -> Source:
        """The data set, read when first needed."""
        return self.load_source()

    @property
    def inputs(self) -> Inputs:
        """Inputs that the loaders index by source position; a subclass may hold only those in :attr:`used`."""
        return self.source.inputs

    @cached_property
    def targets(self) -> NDArray[np.int64]:
        """1 for a positive, 0 for a negative, for every sample of the source."""
        return binary_targets(self.source.labels, self.positive_ids)

    @cached_property
    def positive_ids(self) -> tuple[int, ...]:
        """Ids of the positive classes, which the user gave by id or by name."""
        return class_ids(self.positive_classes, self.source.class_names)

    @cached_property
    def split(self) -> Split:
        """Which samples of the source are in which part."""
        groups = self.source.groups
        if self.split_file is None:
            split = split_long_tail(self.source.labels, self.imbalance_ratio, self.seed, groups)
        else:
            split = load_split(Path(self.split_file), self._fingerprint, len(self.source.labels))
            if groups is not None:
                check_whole_groups(split, groups)
        check_both_kinds(split, self.targets, groups)
        return split

    @property
    def used(self) -> NDArray[np.int64]:
        """Positions of the source's samples that are in any part, in ascending order."""
        return np.sort(np.concatenate([part for _, part in self.split.items()]))

    def export_split(self, path: str) -> None:
        """Write which samples are in which part, to be read by ``split_file``."""
        about = {
            "data": type(self).__name__,
            "positive_ids": self.positive_ids,
            "imbalance_ratio": self.imbalance_ratio,
            "seed": self.seed,
        }
        save_split(Path(path), self.split, self._fingerprint, about)

    @property
    def _fingerprint(self) -> str:
        return fingerprint(self.source.labels, self.source.sample_names)

    @property
    def train_size(self) -> int:
        """Number of training samples: the size of per-instance state."""
        return len(self.split.train) if self.saved_state is None else int(self.saved_state["train_size"])

    @property
    def prior(self) -> float:
        """The fraction of positives in the training batches, which the objectives use as the prior.

        Without a Trainer, a single process is assumed. On several processes the value can differ slightly, because
        the number of positives per batch is rounded.
        """
        if self.saved_state is not None:
            return float(self.saved_state["prior"])
        return self.batch_sampler().positive_fraction

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input as the model gets it."""
        if self.saved_state is not None:
            return tuple(self.saved_state["input_shape"])
        first = torch.from_numpy(self.split.train[:1])
        return tuple(self.eval_transform(self.inputs[first]).shape[1:])

    @property
    def class_counts(self) -> list[ClassCounts]:
        """Samples of each class in each part, in label order."""
        labels = self.source.labels
        return [
            ClassCounts(
                label,
                label in self.positive_ids,
                *(int((labels[part] == label).sum()) for _, part in self.split.items()),
            )
            for label in np.unique(labels).tolist()
        ]

    def summary(self) -> str:
        """A printable table of the positives and negatives of each part."""
        lines = [f"{'':5} {'positives':>10} {'negatives':>10}"]
        for name, part in self.split.items():
            n_pos = int(self.targets[part].sum())
            lines.append(f"{name:5} {n_pos:>10} {len(part) - n_pos:>10}")
        return "\n".join(lines)

    # ------------------------------------------------------------------ loaders

    @property
    def _place(self) -> tuple[int, int]:
        """Number of processes and rank of this one; without a Trainer, there is one process."""
        return (self.trainer.world_size, self.trainer.global_rank) if self.trainer is not None else (1, 0)

    def batch_sampler(self) -> EpochBatchSampler:
        """A new sampler of this process's training batches."""
        labels = self.targets[self.split.train]
        if self.sampler == "shuffled":
            return ShuffledBatchSampler(labels, self.batch_size, self.seed, *self._place)
        return StratifiedBatchSampler(
            labels, self.batch_size, self.positive_fraction, self.seed, *self._place
        )

    def dataset(self, part: Part) -> InMemoryDataset:
        """One part; a sample's index is its position in the part."""
        members: NDArray[np.int64] = getattr(self.split, part)
        return InMemoryDataset(self.inputs, torch.from_numpy(self.targets), torch.from_numpy(members))

    def train_dataloader(self) -> ResumableLoader:
        """This process's training batches, resumable in the middle of an epoch."""
        self._check_trainer()
        return ResumableLoader(
            self.dataset("train"), self.batch_sampler(), self.num_workers, self._pin_memory
        )

    def val_dataloader(self) -> BatchLoader:
        """This process's share of the validation part."""
        return self._eval_dataloader(self.dataset("val"), "the val part", self.seed)

    def test_dataloader(self) -> BatchLoader:
        """This process's share of the test part."""
        return self._eval_dataloader(self.dataset("test"), "the test part", self.seed)

    def predict_dataloader(self) -> BatchLoader:
        """This process's share of the part or the new data that predict scores, in order and not augmented."""
        if self.predict_input is None:
            return self._eval_dataloader(self.dataset(self.predict_part), f"the {self.predict_part} part")
        new = self.new_data
        everything = torch.arange(len(new.targets))
        dataset = InMemoryDataset(new.inputs, torch.from_numpy(new.targets), everything)
        return self._eval_dataloader(dataset, f"`predict_input={self.predict_input}`")

    def scoring_dataloader(self, share: float = 1.0) -> BatchLoader:
        """This process's share of the training part, in order and as in evaluation, for the closed-form start.

        Args:
            share: Fraction of each class to take, at least one sample; the seed decides which samples.
        """
        labels = self.targets[self.split.train]
        classes = [np.flatnonzero(labels == label) for label in (0, 1)]
        if share < 1:
            shuffled = [
                members[permutation(len(members), self.seed, _SCORING, label)]
                for label, members in enumerate(classes)
            ]
            classes = [members[: math.ceil(share * len(members))] for members in shuffled]
        n_ranks, rank = self._place
        return BatchLoader(
            self.dataset("train"),
            batch_size=self.eval_batch_size,
            sampler=np.sort(np.concatenate(classes))[rank::n_ranks].tolist(),
            num_workers=self.num_workers,
            pin_memory=self._pin_memory,
            collate_fn=collate,
            generator=torch.Generator(),  # otherwise the pass would draw from the global generator
        )

    @cached_property
    def new_data(self) -> NewData:
        """The contents of ``predict_input``, read when first needed."""
        assert self.predict_input is not None
        return self.load_new(Path(self.predict_input))

    def prediction_columns(self, index: NDArray[np.int64]) -> dict[str, Sequence[Any]]:
        """Columns that identify the predicted samples in the user's data: the row, and the file if there is one.

        Args:
            index: Indices of samples in :meth:`predict_dataloader`.
        """
        if self.predict_input is not None:
            columns = {name: _take(values, index) for name, values in self.new_data.columns.items()}
            return {"index": index.tolist(), **columns}
        rows = getattr(self.split, self.predict_part)[index]
        names = self.source.sample_names
        return {"index": rows.tolist(), **({"file": _take(names, rows)} if len(names) else {})}

    def _eval_dataloader(self, dataset: InMemoryDataset, what: str, seed: int | None = None) -> BatchLoader:
        self._check_trainer()
        n_ranks, _ = self._place
        if len(dataset) < n_ranks:
            # A rank without a batch would miss the exchange of buffers at the start of DDP's evaluation, and hang.
            raise InputError(
                f"{what} has {len(dataset)} samples for {n_ranks} processes, so some would have nothing to "
                "evaluate: use fewer devices."
            )
        return BatchLoader(
            dataset,
            batch_size=self.eval_batch_size,
            sampler=ShardedSampler(len(dataset), *self._place, seed),
            num_workers=self.num_workers,
            persistent_workers=self.num_workers > 0,
            pin_memory=self._pin_memory,
            collate_fn=collate,
            generator=torch.Generator(),  # otherwise each pass draws from the global generator
        )

    @property
    def _pin_memory(self) -> bool:
        return self.trainer is not None and self.trainer.strategy.root_device.type == "cuda"

    def _check_trainer(self) -> None:
        trainer = self.trainer
        if trainer is None or trainer.world_size == 1:
            return
        if trainer._accelerator_connector.use_distributed_sampler:
            raise InputError(
                "`use_distributed_sampler` is true with several processes, but these loaders shard "
                "themselves: Lightning's sampler would replace the stratified batches and repeat evaluation "
                "samples. Set `trainer.use_distributed_sampler: false`."
            )

    def on_after_batch_transfer(self, batch: Any, dataloader_idx: int) -> Any:
        """Apply the transforms to whole batches, on the model's device."""
        trainer = self.trainer
        is_augmented = type(self).train_transform is not LongTailDataModule.train_transform
        if trainer is None or not trainer.training or not is_augmented:
            return batch._replace(input=self.eval_transform(batch.input))
        loader = trainer.train_dataloader
        assert isinstance(loader, ResumableLoader)
        _, rank = self._place
        with seeded(self.seed, *loader.position, rank, device=batch.input.device):
            return batch._replace(input=self.train_transform(batch.input))


def _take(values: Sequence[Any], positions: NDArray[np.int64]) -> list[Any]:
    return [values[i] for i in positions.tolist()]
