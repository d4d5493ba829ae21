"""The thresholds of a run, chosen when its training ends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lightning.pytorch import Callback, LightningModule, Trainer

from pauc_lightning.arguments import check_flag, check_number
from pauc_lightning.callbacks.checkpoint import RunCheckpoint
from pauc_lightning.decisions import (
    DELTA,
    OperatingPoints,
    choose_operating_points,
    default_targets,
    write_operating_points,
)
from pauc_lightning.decisions.operating_points import check_targets
from pauc_lightning.run_files import VALIDATION_SCORES, SavedScores, run_of, write_scores


class DecisionThresholds(Callback):
    """Chooses thresholds for false-positive budgets on the validation part when a training ends.

    The run's directory then holds ``validation_scores.npz``, the scores of the best model, and
    ``operating_points.json``, the thresholds chosen from them. A run that is stopped does not need the files, as the
    scores are in ``best.ckpt`` and the thresholds follow from them.

    Args:
        target_fpr: False-positive rates to choose thresholds for; null means 0.01, 0.05 and the region's max_fpr.
        delta: Probability with which a guaranteed threshold may exceed its false-positive rate on new data.
        after_fit: Whether to write the files when a training ends.
        after_evaluation: Whether test and validate print confidence intervals, and test what the thresholds do.
    """

    def __init__(
        self,
        target_fpr: float | list[float] | None = None,
        delta: float = DELTA,
        after_fit: bool = True,
        after_evaluation: bool = True,
    ) -> None:
        if isinstance(target_fpr, (int, float)):
            target_fpr = [target_fpr]
        if target_fpr is not None:
            check_targets("decision.target_fpr", target_fpr)
        check_number("decision.delta", delta, above=0, below=1, hint="5 % is 0.05")
        check_flag("decision.after_fit", after_fit)
        check_flag("decision.after_evaluation", after_evaluation)
        self.target_fpr: Sequence[float] | None = target_fpr
        self.delta = delta
        self.after_fit = after_fit
        self.after_evaluation = after_evaluation
        self.points: OperatingPoints | None = None
        """The thresholds of the latest training; None on other ranks than the first."""
        self.path: Path | None = None
        """Their file."""

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the files of the best model, which is on the disk now."""
        checkpoint = trainer.checkpoint_callback
        if not (self.after_fit and trainer.is_global_zero and isinstance(checkpoint, RunCheckpoint)):
            return
        if checkpoint.best_scores is not None:
            region = getattr(pl_module, "region", None)
            run = run_of(str(checkpoint.dirpath))
            self.write(run, checkpoint.best_scores, getattr(region, "max_fpr", None))

    def write(self, run: Path, scores: SavedScores, max_fpr: float | None) -> None:
        """Write the scores of a run's best model and the thresholds chosen from them.

        Args:
            run: The directory of the run.
            scores: Its scores on the validation part.
            max_fpr: The largest false-positive rate of its region.
        """
        targets = default_targets(max_fpr) if self.target_fpr is None else self.target_fpr
        self.points = choose_operating_points(scores.score, scores.label, targets, delta=self.delta)
        write_scores(run / VALIDATION_SCORES, scores)
        self.path = write_operating_points(run, self.points)
