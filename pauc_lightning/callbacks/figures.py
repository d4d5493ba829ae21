"""Pictures of an evaluation, on disk and in W&B alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.loggers import WandbLogger
from matplotlib.figure import Figure
from torch import Tensor

from pauc_lightning import distributed
from pauc_lightning.errors import InputError
from pauc_lightning.plotting.roc import plot_roc
from pauc_lightning.plotting.scores import plot_score_distribution
from pauc_lightning.region import Region


class EvaluationFigures(Callback):
    """Draw the ROC curve with the region shaded, and the score distribution, after a test or a validation.

    The files go to ``figures/`` in the run's directory; a W&B logger, if there is one, gets the same files.

    Args:
        every_n_epochs: While training, draw after every so many epochs; 0 draws after test and validate only.
    """

    def __init__(self, every_n_epochs: int = 10) -> None:
        if every_n_epochs < 0:
            raise InputError(
                f"`every_n_epochs` must not be negative, got {every_n_epochs!r}: write 0 for no figures while training."
            )
        self.every_n_epochs = every_n_epochs
        self.paths: list[Path] = []
        self._batches: list[tuple[Tensor, Tensor]] = []

    def _is_due(self, trainer: Trainer) -> bool:
        if trainer.sanity_checking:
            return False
        if trainer.state.fn != "fit":
            return True
        return self.every_n_epochs > 0 and (trainer.current_epoch + 1) % self.every_n_epochs == 0

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Forget a pass that did not come to its end."""
        self._batches = []

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Forget a pass that did not come to its end."""
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
        """Keep the batch's scores if a figure is due."""
        if self._is_due(trainer):
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
        """Keep the batch's scores."""
        self._batches.append((outputs["scores"], outputs["target"]))

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Draw the validation part."""
        if self._is_due(trainer):
            self._draw(trainer, pl_module, "val")

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Draw the test part."""
        self._draw(trainer, pl_module, "test")

    def _draw(self, trainer: Trainer, pl_module: LightningModule, part: str) -> None:
        if not self._batches:
            empty = torch.empty(0, device=pl_module.device)
            self._batches = [(empty.double(), empty.long())]
        scores, target = (distributed.gather(torch.cat(c)).cpu() for c in zip(*self._batches, strict=True))
        self._batches = []
        directory = Path(trainer.log_dir or trainer.default_root_dir) / "figures"  # asks all ranks
        if not trainer.is_global_zero:
            return
        assert isinstance(pl_module.region, Region)
        region = pl_module.region
        figures = {
            "roc": plot_roc(scores, target, region, name=type(pl_module).__name__),
            "scores": plot_score_distribution(scores, target, region),
        }
        self.paths = [
            self._save(trainer, figure, directory / f"{part}_{kind}.png") for kind, figure in figures.items()
        ]

    def _save(self, trainer: Trainer, figure: Figure, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150, bbox_inches="tight")
        for logger in trainer.loggers:
            if isinstance(logger, WandbLogger):
                logger.log_image(f"figures/{path.stem}", [str(path)])
        return path
