"""The callback in a trial's training: records its values, and gives it up below the bar."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from pauc_lightning.callbacks import RunCheckpoint
from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text

FILE = "validation.json"
"""Written when a training has ended; one that failed or was killed has none."""
METRIC = "val/pauc"


class TrialRecord(Callback):
    """Write the partial AUC of every validation into the run's directory, and stop the training if it is too low.

    Args:
        bars: For each validation, the least value that the best one so far must have; null for no bar.
    """

    def __init__(self, bars: list[float | None] | None = None) -> None:
        self._bars = bars or []
        self._curve: list[float] = []
        self._pruned_at: int | None = None

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Record the value, which is the same on all ranks, and compare it with the bar."""
        if trainer.sanity_checking:
            return
        value = float(trainer.callback_metrics[METRIC])
        self._curve.append(0.0 if math.isnan(value) else value)  # a score that is no number ranks nothing
        index = len(self._curve) - 1
        bar = self._bars[index] if index < len(self._bars) else None
        if bar is not None and max(self._curve) < bar and self._pruned_at is None:
            self._pruned_at = index + 1
            trainer.should_stop = True

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the record, on one rank."""
        folder = Path(trainer.log_dir or trainer.default_root_dir)  # a collective: all ranks must call it
        if not self._curve:
            raise InputError(
                "No validation was run, so the trial has no value: leave out the --trainer options that prevent it."
            )
        checkpoint = trainer.checkpoint_callback
        chosen = checkpoint.best_model_score if isinstance(checkpoint, RunCheckpoint) else None
        value = max(self._curve) if chosen is None else float(chosen)
        if trainer.is_global_zero:
            content = {"value": value, "curve": self._curve, "pruned_at": self._pruned_at}
            write_text(folder / FILE, json.dumps(content, indent=2) + "\n")


def read_record(folder: Path) -> dict[str, Any] | None:
    """Read the record of a training; None if it has not ended."""
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return {
            "value": float(content["value"]),
            "curve": tuple(map(float, content["curve"])),
            "pruned_at": content["pruned_at"],
        }
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged: delete {folder}, and its training is repeated.") from error
