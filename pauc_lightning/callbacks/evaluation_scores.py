"""The scores of a whole evaluation, for callbacks that draw or save them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from pauc_lightning import distributed


class EvaluationScores(Callback, ABC):
    """Collects the scores and labels of an evaluation and hands them over at its end.

    A subclass implements :meth:`on_scores`, and :meth:`wants` if it needs some evaluations only.
    """

    def __init__(self) -> None:
        self._batches: list[tuple[Tensor, Tensor]] = []

    def wants(self, trainer: Trainer, part: str) -> bool:
        """Whether the scores of this evaluation are needed.

        Args:
            trainer: The trainer that evaluates.
            part: ``"val"`` or ``"test"``.
        """
        return not trainer.sanity_checking

    @abstractmethod
    def on_scores(
        self, trainer: Trainer, pl_module: LightningModule, part: str, scores: Tensor, target: Tensor
    ) -> None:
        """Use the scores and labels of all ranks, on the CPU; called on every rank."""

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Forget an evaluation that was interrupted."""
        self._batches = []

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Forget an evaluation that was interrupted."""
        self._batches = []

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
            self._batches.append((outputs["scores"], outputs["target"]))

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
            self._batches.append((outputs["scores"], outputs["target"]))

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Hand over the scores of the validation part."""
        self._hand_over(trainer, pl_module, "val")

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Hand over the scores of the test part."""
        self._hand_over(trainer, pl_module, "test")

    def _hand_over(self, trainer: Trainer, pl_module: LightningModule, part: str) -> None:
        if not self.wants(trainer, part):
            return
        empty = torch.empty(0, device=pl_module.device)
        batches = self._batches or [(empty.double(), empty.long())]  # a rank may have had no samples
        self._batches = []
        scores, target = (
            distributed.gather(torch.cat(column)).cpu() for column in zip(*batches, strict=True)
        )
        self.on_scores(trainer, pl_module, part, scores, target)
