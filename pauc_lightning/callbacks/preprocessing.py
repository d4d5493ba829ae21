"""Stores the preprocessing of a run's data, and compares later data with it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.trainer.states import TrainerFn

from pauc_lightning.data import LongTailDataModule
from pauc_lightning.data.preprocessing import FILE_NAME, load_preprocessing, save_preprocessing
from pauc_lightning.data.table_reader import few
from pauc_lightning.errors import InputError

# Not compared: the fraction of positives, which depends on the number of processes, and identifiers.
_MAY_DIFFER = ("prior", "id_column")


class PreprocessingKeeper(Callback):
    """Stores the preprocessing of the data in the run's directory, and refuses data that would be treated differently.

    Training writes `preprocessing.json`. Every command that starts from a checkpoint of that run and reads the training
    data again (a resumed training, a test, a prediction of a part) compares with it: a changed file would be split
    and standardised differently than in training.
    """

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Compare with the resumed run, or write the file of a new run."""
        self._compare_with_run(trainer)
        folder = trainer.log_dir  # a collective: all ranks must call it
        data = _data_of(trainer)
        if data is None or folder is None or not trainer.loggers or not trainer.is_global_zero:
            return
        path = Path(folder) / FILE_NAME
        if not path.exists():
            save_preprocessing(path, data.training_state())

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Compare, unless the validation is part of training."""
        if trainer.state.fn == TrainerFn.VALIDATING:
            self._compare_with_run(trainer)

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Compare."""
        self._compare_with_run(trainer)

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Compare."""
        self._compare_with_run(trainer)

    def _compare_with_run(self, trainer: Trainer) -> None:
        run, data = _run_of(trainer.ckpt_path), _data_of(trainer)
        if run is not None and data is not None and (run / FILE_NAME).exists():
            compare_with_saved(load_preprocessing(run / FILE_NAME), data.training_state(), run / FILE_NAME)


def _data_of(trainer: Trainer) -> LongTailDataModule | None:
    """Return the data module if it reads training data; one built from a run's saved state need not be compared."""
    data = getattr(trainer, "datamodule", None)
    return data if isinstance(data, LongTailDataModule) and data.saved_state is None else None


def _run_of(checkpoint: object) -> Path | None:
    """Return the directory of the run that a checkpoint belongs to, or None."""
    folder = Path(os.path.abspath(str(checkpoint))).parent if checkpoint else Path()
    return folder.parent if folder.name == "checkpoints" else None


def compare_with_saved(saved: dict[str, Any], current: dict[str, Any], path: Path) -> None:
    """Refuse data that give different inputs than those of a run, and name the differences.

    Args:
        saved: What the run's file says.
        current: The ``training_state`` of the data.
        path: The run's file, for messages.
    """
    different = [key for key in saved if key not in _MAY_DIFFER and saved[key] != current.get(key)]
    if not different:
        return
    before, now = (
        {column["name"]: column for column in state.get("columns", ())} for state in (saved, current)
    )
    changed = [name for name in dict.fromkeys([*before, *now]) if before.get(name) != now.get(name)]
    what = ", ".join(different) + (f" ({few(changed)})" if changed else "")
    raise InputError(
        f"the data are not those that the run was trained on: {what} differ from {path}. Use the same file, `seed` and "
        "settings of the data, as other parts may hold samples that the model has seen; to score other data, use "
        "`pauc predict <run> --input <file>`."
    )
