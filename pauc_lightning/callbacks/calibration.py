"""Calibrates the best model of a run, and shows in a test how far its probabilities are from the frequencies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from lightning.pytorch import LightningModule, Trainer
from numpy.typing import NDArray
from torch import Tensor

from pauc_lightning.calibration import Calibration, read_calibration
from pauc_lightning.callbacks.checkpoint import RunCheckpoint
from pauc_lightning.callbacks.decision_thresholds import DecisionThresholds
from pauc_lightning.callbacks.evaluation_scores import EvaluationScores
from pauc_lightning.callbacks.figures import EvaluationFigures, save_figure
from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text
from pauc_lightning.metrics.functional import brier_score, calibration_error
from pauc_lightning.run_files import CALIBRATION, run_of

AS_SCORED = "as scored"
"""The name of the sigmoid itself among the calibrated probabilities."""


class CalibrationKeeper(EvaluationScores):
    """Fits the calibrators of a run when its training ends, and judges them in a test.

    The fit is on the best model's scores of the validation part, and goes to ``calibration.json`` in the run. A test
    writes Brier score and calibration error to ``test_calibration.json``, and a figure.
    """

    def __init__(self) -> None:
        super().__init__()
        self.errors: dict[str, dict[str, float]] = {}
        """Brier score and calibration error of the latest test, by the name of the calibrator."""
        self.prior_alone = 0.0
        """The Brier score of the share of positives as everyone's probability."""
        self.figure: Path | None = None

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Calibrate the best model, which is on the disk now."""
        checkpoint = trainer.checkpoint_callback
        is_wanted = trainer.is_global_zero and _is_wanted(trainer, "after_fit")
        if not is_wanted or not isinstance(checkpoint, RunCheckpoint) or checkpoint.best_scores is None:
            return
        prior = getattr(getattr(trainer, "datamodule", None), "prior", None) or getattr(
            pl_module, "prior", None
        )
        scores = checkpoint.best_scores
        try:
            fitted = Calibration.fit(scores.score, scores.label, prior)
        except InputError:  # a class is missing: there is nothing to say about probabilities
            return
        fitted.write(run_of(str(checkpoint.dirpath)) / CALIBRATION)

    def wants(self, trainer: Trainer, part: str) -> bool:
        """Whether this is a test: on the validation part, the calibrators would be judged by what they have seen."""
        is_test = part == "test" and not trainer.fast_dev_run  # type: ignore[attr-defined]
        return is_test and _is_wanted(trainer, "after_evaluation")

    def on_scores(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        part: str,
        scores: Tensor,
        target: Tensor,
        index: Tensor | None,
    ) -> None:
        """Compare probabilities with frequencies, on one rank."""
        folder = Path(trainer.log_dir or trainer.default_root_dir)  # a collective: all ranks must call it
        if not trainer.is_global_zero:
            return
        values, labels = scores.double().numpy(), target.numpy()
        probabilities = {AS_SCORED: values, **_calibrated(trainer, values)}
        self.errors = {
            name: {"brier": brier_score(p, labels), "ece": calibration_error(p, labels)}
            for name, p in probabilities.items()
        }
        self.prior_alone = brier_score(np.full(labels.shape, labels.mean()), labels)
        write_text(folder / f"{part}_calibration.json", json.dumps(self.errors, indent=1) + "\n")
        self.figure = None
        if any(isinstance(one, EvaluationFigures) and one.after_evaluation for one in trainer.callbacks):  # type: ignore[attr-defined]
            self.figure = self._draw(
                trainer, probabilities, labels, folder / "figures" / f"{part}_reliability.png"
            )

    def _draw(
        self,
        trainer: Trainer,
        probabilities: Mapping[str, NDArray[np.float64]],
        labels: NDArray[np.int64],
        path: Path,
    ) -> Path:
        from pauc_lightning.plotting import plot_reliability  # matplotlib is slow to import

        shown = {
            name: p for name, p in probabilities.items() if name != "temperature"
        }  # three can be told apart
        return save_figure(trainer, plot_reliability(shown, labels), path)


def _is_wanted(trainer: Trainer, setting: str) -> bool:
    """Whether thresholds are wanted; who trains many models for a table wants neither those nor probabilities."""
    return all(getattr(one, setting) for one in trainer.callbacks if isinstance(one, DecisionThresholds))  # type: ignore[attr-defined]


def _calibrated(trainer: Trainer, scores: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """The probabilities by the run's calibrators; none for another model than its best, or an older run."""
    checkpoint = Path(str(trainer.ckpt_path or ""))
    if checkpoint.name != "best.ckpt":
        return {}
    try:
        calibration = read_calibration(run_of(checkpoint.parent))
    except InputError:
        return {}
    return {name: calibrator(scores) for name, calibrator in calibration.calibrators.items()}
