"""The scores of a whole evaluation, for callbacks that draw or save them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from pauc_lightning import distributed


class CollectedScores:
    """The scores, labels and indices of an evaluation's batches on this rank."""

    def __init__(self) -> None:
        self._batches: list[tuple[Tensor, Tensor, Tensor]] = []

    def clear(self) -> None:
        """Forget all batches."""
        self._batches = []

    def add(self, outputs: Any) -> None:
        """Keep the outputs of an evaluation step of this project's methods; those of others are ignored."""
        if not isinstance(outputs, Mapping) or not {"scores", "target"} <= outputs.keys():
            return
        target, index = outputs["target"], outputs.get("index")
        if index is None:
            index = torch.full_like(target, -1, dtype=torch.int64)
        # One dtype on all ranks, also on one without samples.
        self._batches.append((outputs["scores"], target.long(), index.long()))

    def gathered(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return and forget the scores, labels and indices of all ranks, on the CPU; all ranks must call it.

        Args:
            device: The device of this rank, which may have had no samples.

        Returns:
            The scores, the labels, and the indices unless a sample has none.
        """
        empty = torch.empty(0, device=device)
        batches = self._batches or [(empty.double(), empty.long(), empty.long())]
        self._batches = []
        scores, target, index = (
            distributed.gather(torch.cat(column)).cpu() for column in zip(*batches, strict=True)
        )
        return scores, target, None if bool((index < 0).any()) else index


class EvaluationScores(Callback, ABC):
    """Collects the scores and labels of an evaluation and hands them over at its end.

    A subclass implements :meth:`on_scores`, and :meth:`wants` if it needs some evaluations only.
    """

    def __init__(self) -> None:
        self._collected = CollectedScores()

    def wants(self, trainer: Trainer, part: str) -> bool:
        """Whether the scores of this evaluation are needed.

        Args:
            trainer: The trainer that evaluates.
            part: ``"val"`` or ``"test"``.
        """
        return not trainer.sanity_checking

    @abstractmethod
    def on_scores(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        part: str,
        scores: Tensor,
        target: Tensor,
        index: Tensor | None,
    ) -> None:
        """Use the scores, labels and indices (if known) of all ranks, on the CPU; called on every rank."""

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Forget an evaluation that was interrupted."""
        self._collected.clear()

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Forget an evaluation that was interrupted."""
        self._collected.clear()

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Keep the batch's scores if they are needed."""
        if self.wants(trainer, "val"):
            self._collected.add(outputs)

    def on_test_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Keep the batch's scores if they are needed."""
        if self.wants(trainer, "test"):
            self._collected.add(outputs)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Hand over the scores of the validation part."""
        self._hand_over(trainer, pl_module, "val")

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Hand over the scores of the test part."""
        self._hand_over(trainer, pl_module, "test")

    def _hand_over(self, trainer: Trainer, pl_module: LightningModule, part: str) -> None:
        if not self.wants(trainer, part):
            return
        self.on_scores(trainer, pl_module, part, *self._collected.gathered(pl_module.device))
