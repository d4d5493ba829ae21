"""Runs that are killed at a chosen moment, for the tests of checkpoints."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from methods.training import digits, small_net, trainer
from torch import Tensor, nn

from pauc_lightning.callbacks import RunCheckpoint
from pauc_lightning.checkpoint_io import AtomicCheckpointIO
from pauc_lightning.methods import CE, PartialAUCModule


class Killed(Exception):
    """Stands for a process that goes away."""


class Kill(Callback):
    """Ends the run in a hook, at a step; what is on the disk at that moment is copied to ``killed``."""

    def __init__(self, hook: str, step: int, killed: Path | None = None) -> None:
        self.step, self.killed = step, killed
        setattr(self, hook, self._kill)

    def _kill(self, trainer: Trainer, *args: Any, **kwargs: Any) -> None:
        if trainer.global_step == self.step and not trainer.sanity_checking:
            folder = Path(trainer.default_root_dir) / "checkpoints"
            if self.killed is not None and folder.exists():
                shutil.copytree(folder, self.killed / "checkpoints")
            raise Killed


class KillLast(RunCheckpoint):
    """A checkpoint callback that is killed in a hook after it has done its work there."""

    state_key = property(lambda self: RunCheckpoint(self.monitor, self.mode).state_key)

    def __init__(self, hook: str, step: int, killed: Path, **settings: Any) -> None:
        super().__init__(**settings)
        kill, work = Kill(hook, step, killed)._kill, getattr(self, hook)

        def work_and_die(trainer: Trainer, *args: Any, **kwargs: Any) -> None:
            work(trainer, *args, **kwargs)
            kill(trainer)

        setattr(self, hook, work_and_die)


class Witness(Callback):
    """Writes down what a run does: the batches it is given, the values it validates, and the loggers' clock at both."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int, list[int]]] = []
        self.validated: list[tuple[int, float]] = []
        self.logged_at: list[int] = []

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        clock = trainer.fit_loop.epoch_loop._batches_that_stepped
        self.seen.append((trainer.current_epoch, clock, sorted(batch.index.tolist())))

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not trainer.sanity_checking:
            self.validated.append((trainer.global_step, float(trainer.callback_metrics["val/pauc"])))
            self.logged_at.append(trainer.fit_loop.epoch_loop._batches_that_stepped)


@dataclass
class Run:
    """What a run did, and where it ended."""

    module: PartialAUCModule
    trainer: Trainer
    witness: Witness
    checkpoint: RunCheckpoint
    folder: Path
    was_killed: bool
    state: dict[str, Tensor] = field(init=False)

    def __post_init__(self) -> None:
        self.state = {key: value.clone() for key, value in self.module.state_dict().items()}

    @property
    def last(self) -> Path:
        return self.folder / "checkpoints/last.ckpt"

    @property
    def best(self) -> Path:
        return self.folder / "checkpoints/best.ckpt"


def build(method: type[PartialAUCModule] = CE, **settings: Any) -> PartialAUCModule:
    data = digits()
    return method(
        backbone=small_net(norm=nn.BatchNorm1d(16), dropout=nn.Dropout(0.2)),
        train_size=data.train_size,
        prior=data.prior,
        **{"warmup_epochs": 1, "learning_rate": 0.1, **settings},
    )


def run(
    folder: Path,
    resume: Path | None = None,
    kill: Callback | None = None,
    every_n_train_steps: int | None = None,
    module: Callable[[], PartialAUCModule] = build,
    data: dict[str, Any] | None = None,
    seed: int = 1,
    checkpoint: RunCheckpoint | None = None,
    extra: Sequence[Callback] = (),
    **settings: Any,
) -> Run:
    """Train on the digits, ten steps per epoch, with the checkpoints of a run."""
    torch.manual_seed(seed)  # must not matter
    witness = Witness()
    if isinstance(kill, RunCheckpoint):
        checkpoint, kill = kill, None
    checkpoint = checkpoint or RunCheckpoint(every_n_train_steps=every_n_train_steps)
    fitted = module()
    trained = trainer(
        folder,
        callbacks=[witness, *extra, *([kill] if kill else []), checkpoint],
        plugins=[AtomicCheckpointIO()],
        **{"max_epochs": 3, **settings},
    )
    was_killed = False
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="You're resuming from a checkpoint that ended before the epoch"
        )
        try:
            trained.fit(fitted, datamodule=digits(**(data or {})), ckpt_path=resume)
        except Killed:
            was_killed = True
    return Run(fitted, trained, witness, checkpoint, folder, was_killed)
