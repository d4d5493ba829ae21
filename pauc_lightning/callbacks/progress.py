"""The progress of a run: one live line on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ProgressBar
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from pauc_lightning.durations import in_words

_REFRESH_SECONDS = 0.2
"""Seconds between refreshes of the live line; in between, a step only reads the clock."""
_LINE_SECONDS = 10.0
"""Least number of seconds between two plain lines, for output to a file or in CI."""


class RunProgress(ProgressBar):
    """Shows the current stage, its progress, the latest loss and validation value, and the time left.

    The bar counts the steps of the whole training, so the time left refers to the run, not to the epoch. It is
    estimated from the speed of the last half minute, validations included.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_enabled = True
        self._progress: Progress | None = None
        self._next = 0.0
        self._start = (0.0, 0)
        self._is_validating = False

    def disable(self) -> None:
        """Show nothing: called on processes other than the main one."""
        self._is_enabled = False

    def enable(self) -> None:
        """Show the progress again."""
        self._is_enabled = True

    def print(self, *args: Any, **kwargs: Any) -> None:
        """Print above the live line."""
        if self._is_enabled:
            print(*args, **kwargs)  # noqa: T201  # rich keeps the live line below what is printed

    # ------------------------------------------------------------------ training

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin at the step that a resumed run has reached."""
        self._start = (time.monotonic(), trainer.global_step)
        self._begin(_total_steps(trainer), trainer.global_step, _position(trainer, pl_module))
        self._show(trainer, pl_module)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Update the line if it is due."""
        self._show(trainer, pl_module)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Say that validation runs now."""
        self._is_validating = True
        if trainer.state.fn != "fit":
            self._begin(_count(trainer.num_val_batches), 0, "Validating")

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Show the values of the epoch."""
        if self._is_enabled and self._progress is None:
            self._print_line(trainer, pl_module)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remove the line: the report of the command follows."""
        self._end()

    # ------------------------------------------------------------------ evaluation

    def on_test_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Count the batches of the test part."""
        self._begin(_count(trainer.num_test_batches), 0, "Testing")

    def on_predict_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Count the batches to be scored."""
        self._begin(_count(trainer.num_predict_batches), 0, "Scoring")

    def on_validation_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, *args: Any, **kwargs: Any
    ) -> None:
        """Count a batch, except during training."""
        if trainer.state.fn == "fit":
            self._show(trainer, pl_module)
        else:
            self._advance()

    def on_test_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """Count a batch."""
        self._advance()

    def on_predict_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """Count a batch."""
        self._advance()

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remove the line of ``pauc validate``; in training, the next batch updates it."""
        self._is_validating = False
        if trainer.state.fn != "fit":
            self._end()

    def on_test_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remove the line."""
        self._end()

    def on_predict_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remove the line."""
        self._end()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Leave the terminal as it was."""
        self._end()

    # ------------------------------------------------------------------ display

    def _begin(self, total: int | None, done: int, title: str) -> None:
        self._end()
        self._next = time.monotonic() + _LINE_SECONDS
        if not (self._is_enabled and sys.stderr.isatty()):
            return
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TaskProgressColumn(),
            TextColumn("{task.fields[values]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            auto_refresh=False,  # a thread of its own would disturb the training
        )
        self._progress.start()
        self._progress.add_task(title, total=total, completed=done, values="")
        self._next = 0.0

    def _end(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def _advance(self) -> None:
        if self._progress is None:
            return
        self._progress.advance(self._progress.task_ids[0])
        if time.monotonic() >= self._next:
            self._progress.refresh()
            self._next = time.monotonic() + _REFRESH_SECONDS

    def _show(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Update the line of training, unless that was done just before."""
        if self._progress is None or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _REFRESH_SECONDS
        self._progress.update(
            self._progress.task_ids[0],
            completed=trainer.global_step,
            description=_position(trainer, pl_module) + (", validating" if self._is_validating else ""),
            values=_values(trainer),
            refresh=True,
        )

    def _print_line(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Print a line about the epoch, unless the last one is recent."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _LINE_SECONDS
        parts = [_position(trainer, pl_module), _values(trainer)]
        total, (begun, first) = _total_steps(trainer), self._start
        if total is not None and trainer.global_step > first:
            seconds = (now - begun) / (trainer.global_step - first) * (total - trainer.global_step)
            parts.append(f"about {in_words(seconds)} left")
        print(", ".join(part for part in parts if part), file=sys.stderr, flush=True)  # noqa: T201


def _position(trainer: Trainer, pl_module: LightningModule) -> str:
    """The epoch, and the objective that is trained in it."""
    is_warm_up = trainer.current_epoch < getattr(pl_module, "warmup_epochs", 0)
    what = "warm-up" if is_warm_up else type(pl_module).__name__
    most = trainer.max_epochs
    of = f"/{most}" if most is not None and most > 0 else ""
    return f"Epoch {trainer.current_epoch + 1}{of} ({what})"


def _values(trainer: Trainer) -> str:
    """The latest values that the method puts on the progress bar."""
    metrics = trainer.progress_bar_metrics
    return ", ".join(f"{name} {float(value):.4f}" for name, value in metrics.items())


def _total_steps(trainer: Trainer) -> int | None:
    """The steps of the whole training, if known; ``estimated_stepping_batches`` would build a new loader."""
    limits = [trainer.max_steps] if trainer.max_steps > 0 else []
    batches, epochs = trainer.num_training_batches, trainer.max_epochs
    if epochs is not None and epochs > 0 and isinstance(batches, int):
        limits.append(batches * epochs)
    return min(limits) if limits else None


def _count(batches: list[int | float]) -> int | None:
    """The batches of all loaders, if their numbers are known."""
    return sum(int(n) for n in batches) if all(isinstance(n, int) for n in batches) else None
