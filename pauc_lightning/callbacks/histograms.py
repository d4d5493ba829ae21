"""Histograms of the scores of each class, for W&B and TensorBoard."""

from __future__ import annotations

import numpy as np
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor

from pauc_lightning.callbacks.boards import log_histogram, logged_at, shows_media
from pauc_lightning.callbacks.evaluation_scores import EvaluationScores
from pauc_lightning.errors import InputError


class ScoreHistograms(EvaluationScores):
    """Send the distribution of the scores of positives and negatives to W&B and TensorBoard after an evaluation.

    They show how the classes part while training. Without such a logger nothing is collected.

    Args:
        every_n_epochs: While training, send after every so many epochs; 0 sends after test and validate only.
        bins: Number of bins over [0, 1].
    """

    def __init__(self, every_n_epochs: int = 1, bins: int = 50) -> None:
        super().__init__()
        if every_n_epochs < 0:
            raise InputError(
                f"`every_n_epochs` must not be negative, got {every_n_epochs!r}: write 0 for none while training."
            )
        if not 1 <= bins <= 512:
            raise InputError(f"`bins` must be from 1 to 512, as W&B takes no more, got {bins!r}: try 50.")
        self.every_n_epochs = every_n_epochs
        self.bins = bins

    def wants(self, trainer: Trainer, part: str) -> bool:
        """Whether a histogram is due, and somebody shows it."""
        if trainer.sanity_checking or not any(map(shows_media, trainer.loggers)):
            return False
        if trainer.state.fn != "fit":
            return True
        return self.every_n_epochs > 0 and (trainer.current_epoch + 1) % self.every_n_epochs == 0

    def on_scores(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        part: str,
        scores: Tensor,
        target: Tensor,
        index: Tensor | None,
    ) -> None:
        """Send a histogram of each class that has samples, on one rank."""
        if not trainer.is_global_zero:
            return
        for name, label in (("positives", 1), ("negatives", 0)):
            values = scores[target == label].numpy().astype(np.float64)
            for logger in trainer.loggers if len(values) else ():
                log_histogram(logger, f"scores/{part}_{name}", values, self.bins, logged_at(trainer))
