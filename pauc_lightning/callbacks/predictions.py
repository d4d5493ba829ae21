"""Predictions as a file."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.utilities import rank_zero_info
from torch import Tensor

from pauc_lightning import distributed
from pauc_lightning.files import complete_file


class PredictionWriter(Callback):
    """Write index, label and score of every predicted sample to a CSV file, in the order of the indices.

    Args:
        filename: The file, relative to the run's directory unless absolute. It appears only when it is complete.
    """

    def __init__(self, filename: str = "predictions.csv") -> None:
        self.filename = filename
        self._batches: list[tuple[Tensor, Tensor, Tensor]] = []

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Forget an earlier run."""
        self._batches = []

    def on_predict_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Keep what the batch gave."""
        label = outputs["label"]
        index = outputs["index"]
        if index is None:  # samples without an index are numbered in the order of one process
            index = torch.full_like(label, -1, dtype=torch.int64)
        self._batches.append((index, label, outputs["score"]))

    def on_predict_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Collect all ranks' samples and write them on one."""
        if not self._batches:
            empty = torch.empty(0, device=pl_module.device)
            self._batches = [(empty.long(), empty.long(), empty.double())]
        gathered = [
            distributed.gather(torch.cat(column)).cpu() for column in zip(*self._batches, strict=True)
        ]
        self._batches = []
        path = Path(trainer.log_dir or trainer.default_root_dir) / self.filename  # asks all ranks
        if not trainer.is_global_zero:
            return
        index, label, score = gathered
        if bool((index < 0).any()):
            index = torch.arange(len(index))
        order = index.argsort(stable=True)
        columns = (index[order].tolist(), label[order].long().tolist(), score[order].tolist())
        with complete_file(path) as file:
            writer = csv.writer(file)
            writer.writerow(("index", "label", "score"))
            writer.writerows(zip(*columns, strict=True))
        rank_zero_info(f"Wrote {len(index)} predictions (index, label, score) to {path}")
