"""What a run leaves behind for a comparison: where its training ended, and whether it collapsed on the way."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from lightning.pytorch import Callback, LightningModule, Trainer

from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text
from pauc_lightning.methods import PartialAUCModule

FILENAME = "fit.json"


@dataclass(frozen=True)
class Collapse:
    """What the collapse warning said, and at which step."""

    step: int
    what: str


@dataclass(frozen=True)
class Record:
    """How a training ended that was not stopped on the way."""

    epochs: int
    steps: int
    collapses: tuple[Collapse, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Record | None:
        """That of the run in ``folder``; None if its training did not come to its end."""
        path = folder / FILENAME
        if not path.is_file():
            return None
        try:
            content = json.loads(path.read_text())
            collapses = tuple(Collapse(**collapse) for collapse in content["collapses"])
            return cls(int(content["epochs"]), int(content["steps"]), collapses)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path} is damaged: delete {folder}, and its run is made again.") from error


class RunRecord(Callback):
    """Write ``fit.json`` into the run's directory when training has come to its end.

    It names the epochs and steps done and the collapses warned of. A training that fails or is stopped leaves none.
    """

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Write the file, on one rank."""
        folder = Path(trainer.log_dir or trainer.default_root_dir)  # asks all ranks
        if not trainer.is_global_zero:
            return
        assert isinstance(pl_module, PartialAUCModule)
        collapses = tuple(Collapse(step, what) for step, what in pl_module.collapses)
        record = Record(trainer.fit_loop.epoch_progress.current.completed, trainer.global_step, collapses)
        write_text(folder / FILENAME, json.dumps(asdict(record), indent=2) + "\n")
