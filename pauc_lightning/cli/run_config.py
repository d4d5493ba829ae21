"""config.yaml: the settings of a run, saved in its directory."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.cli import SaveConfigCallback

from pauc_lightning.cli.run_versions import record_versions
from pauc_lightning.files import write_text


class RunConfig(SaveConfigCallback):
    """Saves the settings in the run. New settings of a resumed run replace them; the old file gets a number."""

    _replacement: tuple[Path, str] | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Write config.yaml atomically on the main process; a resumed run's file is replaced only when it trains."""
        directory = trainer.log_dir  # a collective: all ranks must call it
        if self.already_saved or directory is None or (stage == "predict" and not trainer.loggers):
            return
        self.already_saved = True
        if not trainer.is_global_zero:
            return
        config = self.config.clone()
        if stage == "fit":
            config.ckpt_path = None  # the settings start a new run; `pauc resume` finds the checkpoint itself
        path = Path(directory) / self.config_filename
        text = self.parser.dump(config, skip_unset=False, skip_validation=True)  # they have just been parsed
        if not path.is_file():
            write_text(path, text)
        elif path.read_text() != text:
            self._replacement = path, text

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save the versions, and the new settings of a resumed run, which have been checked against its checkpoint."""
        directory = trainer.log_dir  # a collective: all ranks must call it
        if directory is not None and trainer.loggers and trainer.is_global_zero:
            record_versions(Path(directory), _device(pl_module))
        if self._replacement is None:
            return
        path, text = self._replacement
        number = next(n for n in count(1) if not path.with_name(f"config_{n}.yaml").exists())
        write_text(path.with_name(f"config_{number}.yaml"), path.read_text())
        write_text(path, text)  # atomic: the run is never without settings
        self._replacement = None


def _device(module: LightningModule) -> str:
    """The name of the graphics card, or the kind of the device."""
    kind = module.device.type
    return torch.cuda.get_device_name(module.device) if kind == "cuda" else kind
