"""Scores of the training set, from which an objective's variables start in closed form after the warm-up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor, nn
from torch.utils.data import DataLoader, IterableDataset

from pauc_lightning import distributed
from pauc_lightning.data.sample import Sample
from pauc_lightning.methods.progress import shown_progress
from pauc_lightning.models.backbone import at_least_float32

if TYPE_CHECKING:
    from pauc_lightning.methods.base import PartialAUCModule

_BATCH_SIZE = 1024


@runtime_checkable
class HasScoringLoader(Protocol):
    """A data module that provides its training samples for scoring."""

    def scoring_dataloader(self, share: float = 1.0) -> Iterable[Any]:
        """Return this process's part of the training samples, each once and without augmentation.

        Args:
            share: The fraction of the samples to score; both classes must occur.
        """
        ...


class TrainingScores(NamedTuple):
    """Logits, labels and indices of the training set (or of a share of it) on all processes, shape ``(n,)`` each."""

    logits: Tensor
    target: Tensor
    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which is not needed here


class _Batches(NamedTuple):
    """The batches to score, and the samples' numbers for batches that have no indices."""

    loader: Iterable[Any]
    numbers: Sequence[int] | None = None


@torch.no_grad()
def score_training_set(module: PartialAUCModule, is_start: bool = True) -> TrainingScores | None:
    """Score the training set in evaluation mode, each process its part.

    The samples come from the data module's ``scoring_dataloader(share)``. With a data module that has none, or with
    a plain DataLoader, the training data set is read a second time, in order: augmentation in the data set itself
    remains, while augmentation in transfer hooks is left out if they look at ``trainer.training``. With
    ``limit_train_batches``, the same share of the samples is scored that an epoch trains on.

    Args:
        module: The method, whose trainer is fitting.
        is_start: Whether the objective starts from these scores, which is said.

    Returns:
        The logits of all processes' samples; None if the data cannot be read twice, or if the share has one class only.
    """
    trainer = module.trainer
    share = _share(trainer)
    batches = _batches(trainer, share)
    if batches is None:
        if is_start:
            rank_zero_info(
                "The training data cannot be read twice: the objective keeps its default initialisation."
            )
        return None
    if is_start:
        rank_zero_info("Scoring the training set to initialise the objective's variables in closed form ...")
    distributed.share_buffers(module.backbone)
    empty = next(module.backbone.parameters()).detach().new_empty(0)
    parts = [(at_least_float32(empty), empty.long(), empty.long())]  # a process may have no sample
    with _as_in_validation(trainer), _evaluation_mode(module.backbone):
        n_done = 0
        for batch in shown_progress(trainer, batches.loader, "Scoring the training set"):
            sample = _on_device(trainer, batch)
            with trainer.precision_plugin.forward_context():
                logits = at_least_float32(module(sample.input))
            index = sample.index
            if index is None:
                index = _numbers(batches.numbers, n_done, len(logits)).to(logits.device)
            parts.append((logits, sample.target, index))
            n_done += len(logits)
    logits, target, index = (distributed.gather(torch.cat(column)) for column in zip(*parts, strict=True))
    if share < 1 and not 0 < int((target == 1).sum()) < len(target):
        if is_start:
            rank_zero_info(
                "The share of the training set that `limit_train_batches` leaves has one class only: the objective "
                "keeps its default initialisation."
            )
        return None
    return TrainingScores(logits, target, index)


def _share(trainer: Trainer) -> float:
    """Return the fraction of its batches that an epoch trains on."""
    loader = trainer.train_dataloader
    n_batches = trainer.num_training_batches
    if not isinstance(loader, Sized) or not math.isfinite(n_batches):
        return 1.0
    return min(1.0, n_batches / max(1, len(loader)))


def _batches(trainer: Trainer, share: float) -> _Batches | None:
    """Return the batches of this process; None if the training data cannot be read twice."""
    data = getattr(trainer, "datamodule", None)
    if isinstance(data, HasScoringLoader):
        return _Batches(data.scoring_dataloader(share))
    loader = trainer.train_dataloader
    if not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset):
        return None
    n = len(loader.dataset)  # type: ignore[arg-type]  # a map-style data set has a length
    chosen = torch.arange(n)
    if share < 1:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
        chosen = order[: math.ceil(share * n)].sort().values
    numbers: list[int] = chosen[distributed.rank() :: distributed.world_size()].tolist()
    batches = DataLoader(
        loader.dataset,
        batch_size=_BATCH_SIZE,
        sampler=numbers,
        collate_fn=loader.collate_fn,
        num_workers=loader.num_workers,
        generator=torch.Generator(),  # otherwise the pass would draw from the global generator
    )
    return _Batches(batches, numbers)


def _numbers(numbers: Sequence[int] | None, first: int, count: int) -> Tensor:
    """Return the numbers of ``count`` samples from the ``first`` on; any consistent numbering will do."""
    if numbers is not None:
        return torch.tensor(numbers[first : first + count])
    return torch.arange(first, first + count) * distributed.world_size() + distributed.rank()


def _on_device(trainer: Trainer, batch: Any) -> Sample:
    """Return the batch as the network gets it in evaluation."""
    batch = trainer.precision_plugin.convert_input(batch)
    return Sample.from_batch(trainer.strategy.batch_to_device(batch))


@contextmanager
def _as_in_validation(trainer: Trainer) -> Iterator[None]:
    """Let transfer hooks see validation batches: data modules augment in training only."""
    trainer.validating = True
    try:
        yield
    finally:
        trainer.training = True


@contextmanager
def _evaluation_mode(backbone: nn.Module) -> Iterator[None]:
    was_training = backbone.training
    backbone.eval()
    try:
        yield
    finally:
        backbone.train(was_training)
