"""The scores of a run in files: of its best model on the validation part, and of every test and validation."""

from __future__ import annotations

from pathlib import Path

from lightning.pytorch import LightningModule, Trainer
from torch import Tensor

from pauc_lightning.callbacks.checkpoint import RunCheckpoint
from pauc_lightning.callbacks.evaluation_scores import EvaluationScores
from pauc_lightning.run_files import TEST_SCORES, VALIDATION_SCORES, SavedScores, run_of, write_scores


class ScoreFiles(EvaluationScores):
    """Writes the scores and labels of a part of the data: ``validation_scores.npz`` and ``test_scores.npz``.

    A training that ends writes those of its best model on the validation part, from which thresholds and calibration
    are chosen, into the run's directory. One that is stopped need not: they are in ``best.ckpt``. A test or a
    validation writes the scores of its own model into its own directory.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scores: SavedScores | None = None
        """The scores of the latest test or validation."""
        self.path: Path | None = None
        """Their file; None on other ranks than the first."""

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the scores of the best model, which is on the disk now."""
        checkpoint = trainer.checkpoint_callback
        is_kept = isinstance(checkpoint, RunCheckpoint) and checkpoint.best_scores is not None
        if trainer.is_global_zero and is_kept:
            assert isinstance(checkpoint, RunCheckpoint)
            assert checkpoint.best_scores is not None
            write_scores(run_of(str(checkpoint.dirpath)) / VALIDATION_SCORES, checkpoint.best_scores)

    def wants(self, trainer: Trainer, part: str) -> bool:
        """Whether this is a test, or a validation outside a training."""
        return trainer.state.fn != "fit" and not trainer.fast_dev_run  # type: ignore[attr-defined]

    def on_scores(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        part: str,
        scores: Tensor,
        target: Tensor,
        index: Tensor | None,
    ) -> None:
        """Write the scores, on one rank."""
        folder = Path(trainer.log_dir or trainer.default_root_dir)  # a collective: all ranks must call it
        self.scores = SavedScores.of(scores, target, index)
        if trainer.is_global_zero:
            self.path = folder / (TEST_SCORES if part == "test" else VALIDATION_SCORES)
            write_scores(self.path, self.scores)
