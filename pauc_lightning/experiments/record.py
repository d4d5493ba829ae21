"""Callbacks of a run within a comparison: its record and its progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from pauc_lightning.callbacks import CollapseMonitor, RunCheckpoint
from pauc_lightning.callbacks.evaluation_scores import EvaluationScores
from pauc_lightning.data import LongTailDataModule
from pauc_lightning.experiments.live import Progress, report
from pauc_lightning.experiments.outcome import Collapse, Record, write_curve
from pauc_lightning.methods import PartialAUCModule
from pauc_lightning.metrics.functional import RocCurve

_METRIC = "val/pauc"


class RunRecord(EvaluationScores):
    """Write the record of a run for the comparison into its directory.

    At the end of training ``fit.json`` names the epochs and steps done, the collapses warned of, whether the best
    model is the one that the method started from, and the partial AUC on the validation part by which it was chosen; a
    training that fails or is interrupted leaves none. After the test, ``test_roc.csv`` holds the ROC curve.
    """

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write ``fit.json``, on one rank."""
        folder = Path(trainer.log_dir or trainer.default_root_dir)  # a collective: all ranks must call it
        if not trainer.is_global_zero:
            return
        monitors = (callback for callback in trainer.callbacks if isinstance(callback, CollapseMonitor))  # type: ignore[attr-defined]
        collapses = tuple(Collapse(step, what) for monitor in monitors for step, what in monitor.collapses)
        epochs = trainer.fit_loop.epoch_progress.current.completed
        sizes = _sizes(trainer.datamodule)  # type: ignore[attr-defined]
        best_is_start, best_value = _best(trainer.checkpoint_callback)
        Record(epochs, trainer.global_step, collapses, *sizes, best_is_start, best_value).write(folder)

    def wants(self, trainer: Trainer, part: str) -> bool:
        """Whether this is the test."""
        return part == "test"

    def on_scores(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        part: str,
        scores: Tensor,
        target: Tensor,
        index: Tensor | None,
    ) -> None:
        """Write ``test_roc.csv``, on one rank."""
        folder = Path(trainer.log_dir or trainer.default_root_dir)  # a collective: all ranks must call it
        if trainer.is_global_zero:
            assert isinstance(pl_module, PartialAUCModule)
            write_curve(folder, RocCurve.from_scores(scores, target).thinned(pl_module.region))


def _best(checkpoint: Any) -> tuple[bool, float | None]:
    """Whether the best model is the start, and its partial AUC on the validation part; None unless that chose it."""
    if not isinstance(checkpoint, RunCheckpoint):
        return False, None
    score = checkpoint.best_model_score
    is_by_pauc = (checkpoint.monitor, checkpoint.mode) == (_METRIC, "max")
    return checkpoint.best_is_start, float(score) if is_by_pauc and score is not None else None


def _sizes(data: Any) -> tuple[int | None, int | None]:
    """The numbers of training and test samples; None for data modules of other kinds."""
    if not isinstance(data, LongTailDataModule):
        return None, None
    return len(data.split.train), len(data.split.test)


class ProgressReporter(Callback):
    """Report the epoch and the latest partial AUC on the validation part to the comparison, on one rank."""

    def __init__(self) -> None:
        self._value: float | None = None

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Report the first epoch."""
        self._report(trainer, 0)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Report the position in the epoch."""
        self._report(trainer, batch_idx + 1)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remember the value for the next report."""
        value = trainer.callback_metrics.get(_METRIC)
        if not trainer.sanity_checking and value is not None:
            self._value = float(value)

    def _report(self, trainer: Trainer, batches_done: int) -> None:
        if not trainer.is_global_zero:
            return
        epochs, batches = trainer.max_epochs or 1, float(trainer.num_training_batches) or 1.0
        done = trainer.current_epoch + batches_done / batches
        report(Progress(trainer.current_epoch + 1, epochs, min(1.0, done / epochs), self._value))
