"""The scores of a test or a validation in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn
from torch import Tensor

from pauc_lightning.callbacks.evaluation_scores import EvaluationScores
from pauc_lightning.run_files import TEST_SCORES, VALIDATION_SCORES, SavedScores, fingerprint, write_scores


class ScoreFiles(EvaluationScores):
    """Writes the scores and labels of a test or validation to ``test_scores.npz`` or ``validation_scores.npz``.

    A test's file also names the checkpoint that was tested, as a run that is resumed may replace it.

    Those of a run's best model on the validation part are written by :class:`DecisionThresholds` when a training ends.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scores: SavedScores | None = None
        """The scores of the latest test or validation."""
        self.path: Path | None = None
        """Their file; None on other ranks than the first."""
        self._checkpoint: str | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Forget the checkpoint of an earlier evaluation."""
        self._checkpoint = None

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Note which checkpoint is loaded, at once: a training may replace it while its model is tested."""
        if trainer.state.fn == TrainerFn.TESTING and trainer.ckpt_path:
            self._checkpoint = fingerprint(Path(trainer.ckpt_path))

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
            write_scores(self.path, self.scores, self._checkpoint)
