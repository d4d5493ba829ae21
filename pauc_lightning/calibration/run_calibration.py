"""The calibration of a run's best model, fitted on its scores of the validation part."""

from __future__ import annotations

from pathlib import Path

from pauc_lightning.calibration.calibration import Calibration
from pauc_lightning.run_files import CALIBRATION, read_validation_scores


def read_calibration(run: str | Path) -> Calibration:
    """Read the calibration of a run; one that was stopped before it wrote its file is calibrated now, in memory.

    Args:
        run: The directory of the run.

    Raises:
        InputError: If the run has no validation scores, or a file is damaged.
    """
    run = Path(run)
    if (run / CALIBRATION).is_file():
        return Calibration.read(run / CALIBRATION)
    scores = read_validation_scores(run)
    return Calibration.fit(scores.score, scores.label, _batch_prior(run))


def _batch_prior(run: Path) -> float | None:
    """The fraction of positives in the training batches, which the method's settings in the checkpoint name."""
    from pauc_lightning.checkpoint_io import read_checkpoint  # slow to import

    prior = read_checkpoint(run / "checkpoints" / "best.ckpt").get("hyper_parameters", {}).get("prior")
    return None if prior is None else float(prior)
