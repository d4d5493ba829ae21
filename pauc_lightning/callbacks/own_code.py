"""Keeps the user's own classes with a run."""

from __future__ import annotations

from pathlib import Path

from lightning.pytorch import Callback, LightningModule, Trainer

from pauc_lightning.own_code import keep_code
from pauc_lightning.run_directory import RunDirectory


class OwnCodeKeeper(Callback):
    """Copies the files of a network, a method or a data module of the user's own into ``code/`` in the run's directory.

    ``pauc_lightning.load`` can then build the network without them, wherever the run is.
    """

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Copy the files, on one rank; those of a resumed run are kept as they were."""
        folder = trainer.log_dir  # a collective: all ranks must call it
        if folder is None or not trainer.loggers or not trainer.is_global_zero:
            return
        code = RunDirectory(Path(folder)).code
        if not code.exists():
            parts = (getattr(pl_module, "backbone", None), pl_module, getattr(trainer, "datamodule", None))
            keep_code(code, [type(part) for part in parts if part is not None])
