"""Figures of an evaluation, on disk, in W&B and in TensorBoard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lightning.pytorch import LightningModule, Trainer
from torch import Tensor

from pauc_lightning.callbacks.boards import log_image, logged_at
from pauc_lightning.callbacks.evaluation_scores import EvaluationScores
from pauc_lightning.errors import InputError
from pauc_lightning.region import Region

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class EvaluationFigures(EvaluationScores):
    """Draw the ROC curve with the region shaded, and the distribution of the scores, after a test or a validation.

    The files go to ``figures/`` in the run's directory. W&B and TensorBoard loggers get the same images.

    Args:
        every_n_epochs: While training, draw after every so many epochs; 0 draws after test and validate only.
        after_evaluation: Whether to draw after test and validate.
    """

    def __init__(self, every_n_epochs: int = 10, after_evaluation: bool = True) -> None:
        super().__init__()
        if every_n_epochs < 0:
            raise InputError(
                f"`every_n_epochs` must not be negative, got {every_n_epochs!r}: write 0 for no figures while training."
            )
        self.every_n_epochs = every_n_epochs
        self.after_evaluation = after_evaluation
        self.paths: list[Path] = []

    def wants(self, trainer: Trainer, part: str) -> bool:
        """Whether a figure is due."""
        if trainer.sanity_checking:
            return False
        if trainer.state.fn != "fit":
            return self.after_evaluation
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
        """Draw and save the figures, on one rank."""
        directory = (
            Path(trainer.log_dir or trainer.default_root_dir) / "figures"
        )  # a collective: all ranks must call it
        if not trainer.is_global_zero:
            return
        from pauc_lightning import plotting  # matplotlib is slow to import

        assert isinstance(pl_module.region, Region)
        region = pl_module.region
        figures = {
            "roc": plotting.plot_roc(scores, target, region, name=type(pl_module).__name__),
            "scores": plotting.plot_score_distribution(scores, target, region),
        }
        self.paths = [
            save_figure(trainer, figure, directory / f"{part}_{kind}.png") for kind, figure in figures.items()
        ]


def save_figure(trainer: Trainer, figure: Figure, path: Path) -> Path:
    """Save a figure, and send it to the loggers that show images; return its path. On one rank."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, bbox_inches="tight")
    for logger in trainer.loggers:
        log_image(logger, f"figures/{path.stem}", path, logged_at(trainer))
    return path
