"""What a run keeps of its training data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from pauc_lightning.data import LongTailDataModule
from pauc_lightning.data.preprocessing import FILE_NAME, load_preprocessing, save_preprocessing
from pauc_lightning.data.table_reader import few
from pauc_lightning.errors import InputError

# The fraction of positives depends on the number of processes; identifiers are no inputs.
_MAY_DIFFER = ("prior", "id_column")


class PreprocessingKeeper(Callback):
    """Write how data become inputs to the run's directory, and refuse to go on with data that do so differently.

    Training writes `preprocessing.json`. Whatever starts from a checkpoint of that run and reads the training data
    again (a resumed training, a test, a prediction of a part) compares: a file that has changed would be
    divided and standardised in another way than the model was trained with.
    """

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Write or compare, before anything is computed."""
        data = getattr(trainer, "datamodule", None)
        folder = trainer.log_dir  # asks all ranks
        if not isinstance(data, LongTailDataModule) or data.saved_state is not None:
            return
        trained_in = _run_of(trainer.ckpt_path)
        if trained_in is not None and (trained_in / FILE_NAME).exists():
            _compare(
                load_preprocessing(trained_in / FILE_NAME), data.training_state(), trained_in / FILE_NAME
            )
        if stage != "fit" or not trainer.loggers or folder is None or not trainer.is_global_zero:
            return
        if not (Path(folder) / FILE_NAME).exists():
            save_preprocessing(Path(folder) / FILE_NAME, data.training_state())


def _run_of(checkpoint: object) -> Path | None:
    """The run that a checkpoint belongs to, if it lies in one."""
    folder = Path(os.path.abspath(str(checkpoint))).parent if checkpoint else Path()
    return folder.parent if folder.name == "checkpoints" else None


def _compare(saved: dict[str, Any], current: dict[str, Any], path: Path) -> None:
    """Refuse data that become other inputs, naming what differs."""
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
        "settings of the data; to score other data, use `pauc predict <run> --input <file>`."
    )
