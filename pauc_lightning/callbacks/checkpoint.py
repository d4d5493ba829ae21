"""The checkpoints of a run: the last state and the best model."""

from __future__ import annotations

import copy
import os
import shutil
import time
import warnings
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.strategies import DDPStrategy, SingleDeviceStrategy
from lightning.pytorch.trainer.states import TrainerFn
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor

from pauc_lightning import run_files
from pauc_lightning.arguments import check_number
from pauc_lightning.callbacks import position
from pauc_lightning.callbacks.evaluation_scores import CollectedScores
from pauc_lightning.callbacks.position import Position
from pauc_lightning.checkpoint_io import read_checkpoint
from pauc_lightning.errors import InputError
from pauc_lightning.files import complete_binary_file

Mode = Literal["max", "min"]


class RunCheckpoint(ModelCheckpoint):
    """Keeps ``last.ckpt``, always the latest state, and ``best.ckpt``, the model that validated best.

    ``last.ckpt`` is written at the end of every epoch after its validation, at the end of training, when an exception
    or an interrupt ends the run between two optimizer steps, and every ``every_n_train_steps`` if asked for. A run that
    is resumed from it continues exactly where it was.

    ``best.ckpt`` is written only when a validation ends with a better value than all before: it holds the model that
    was validated, and its scores on the validation part (:func:`~pauc_lightning.run_files.read_validation_scores`).
    NaN is never the best value. Files that describe the previous best model are removed before.

    With ``seconds_between_saves`` the files are written less often, and a better model waits in memory. The training
    is the same; a run that is killed has an older ``last.ckpt``, from which it continues to the same result.

    Neither file refers to anything outside its directory, so the directory may be moved or copied.

    Args:
        monitor: Metric that decides which model is best.
        mode: Whether the largest ("max") or the smallest ("min") value is best.
        every_n_train_steps: Also write last.ckpt after every so many optimizer steps; null writes it once per epoch.
        seconds_between_saves: Least number of seconds between two writes at the ends of epochs, for short epochs; 0
            writes after every epoch. The end of the training and an interruption always write.
        dirpath: Directory of the checkpoints; null means <run>/checkpoints.
    """

    def __init__(
        self,
        monitor: str = "val/pauc",
        mode: Mode = "max",
        every_n_train_steps: int | None = None,
        seconds_between_saves: float = 0.0,
        dirpath: str | None = None,
    ) -> None:
        if mode not in get_args(Mode):
            raise InputError(f"`mode` must be one of {get_args(Mode)}, got {mode!r}.")
        if every_n_train_steps is not None and every_n_train_steps < 1:
            raise InputError(
                f"`every_n_train_steps` must be at least 1, got {every_n_train_steps!r}: write null for once per epoch."
            )
        check_number("seconds_between_saves", seconds_between_saves, at_least=0)
        super().__init__(
            dirpath=dirpath,
            filename="best",
            monitor=monitor,
            mode=mode,
            save_last=True,
            auto_insert_metric_name=False,
            enable_version_counter=False,
        )
        self.monitor: str = monitor
        self.save_every_n_train_steps = every_n_train_steps
        self.seconds_between_saves = seconds_between_saves
        self._state_key = self._generate_state_key(monitor=monitor, mode=mode)
        self._last_write = 0.0
        self._held_best: dict[str, Any] | None = None
        self._is_training = False
        self._validated_at: int | None = None
        self._resumed_at: Position | None = None
        self._saved_at: Position | None = None
        self._postponed_max_steps: int | None = None
        self.best_is_start = False
        """Whether the best model is that of the warm-up or of the initial weights, before the method's first step."""
        self.best_scores: run_files.SavedScores | None = None
        """The scores of the best model on the validation part; None before there is one."""
        self._collected = CollectedScores()
        self._is_saving_best = False

    @property
    def state_key(self) -> str:
        """The key of this callback's state in a checkpoint; without the interval, which may change on resuming."""
        return self._state_key  # Lightning asks for it in every hook

    # ------------------------------------------------------------------ when to save

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Find the directory, without a warning if a resumed run finds it full."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"Checkpoint directory .* exists and is not empty")
            super().setup(trainer, pl_module, stage)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Start saving; a run that was resumed between two epochs begins a new epoch."""
        if self._resumed_at is not None and self._resumed_at.batches == 0:
            position.begin_epoch_anew(trainer)
        self._resumed_at = None
        self._is_training = True
        self._held_best = None
        self._last_write = time.monotonic()

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Reset the count of the epoch's batches; Lightning does so later, and a signal may come in between."""
        trainer.fit_loop.epoch_loop.batch_progress.reset_on_run()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save the last state every ``every_n_train_steps`` steps."""
        every = self.save_every_n_train_steps
        if every is not None and trainer.global_step % every == 0:
            self._save_last(trainer)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Restore ``max_steps``, which was raised by one so that a pending validation could start."""
        if self._postponed_max_steps is not None:
            trainer.fit_loop.epoch_loop.max_steps = self._postponed_max_steps
            self._postponed_max_steps = None
        self._collected.clear()

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Keep the batch's scores, for the case that the model is the best."""
        if self._may_save(trainer):
            self._collected.add(outputs)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save the model that has just been validated if it is the best."""
        if not self._may_save(trainer):
            return
        self._validated_at = trainer.fit_loop.epoch_loop.batch_progress.total.processed  # type: ignore[attr-defined]
        score = self._validated_score(trainer)
        self.current_score = score
        if trainer.strategy.reduce_boolean_decision(self._is_better(score)):
            self._set_best(os.path.join(str(self.dirpath), "best.ckpt"), score)
            self.best_is_start = not bool(getattr(pl_module, "objective_initialized", True))
            scores = run_files.SavedScores.of(*self._collected.gathered(pl_module.device))
            self.best_scores = scores if len(scores) else None
            self._held_best = None
            self._is_saving_best = True
            try:
                if self._is_time_to_write(trainer):
                    self._forget_previous_best(trainer)
                    self._save_checkpoint(trainer, self.best_model_path)
                else:
                    self._held_best = _copied(
                        trainer._checkpoint_connector.dump_checkpoint(weights_only=False)
                    )
            finally:
                self._is_saving_best = False
        self._collected.clear()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save the last state, after the epoch's validation."""
        if self._is_time_to_write(trainer):
            self._save_last(trainer)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Save the last state, and warn if there is no best one."""
        self._save_last(trainer)
        self._is_training = False
        if self._may_save(trainer) and not self.best_model_path:
            why = (
                "no validation was run"
                if self.current_score is None
                else f"`{self.monitor}` was never a number"
            )
            rank_zero_warn(f"There is no best.ckpt: {why}. The final state is {self.last_model_path}.")

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """Save the last state if the exception came between two optimizer steps, not within one; the best in any case.

        Other processes may have stopped elsewhere, so nothing here waits for them, and only strategies that keep
        everything on rank 0 save.
        """
        was_training, self._is_training = self._is_training, False
        if not (was_training and self._may_save(trainer)):
            return
        if trainer.world_size > 1 and not isinstance(trainer.strategy, DDPStrategy):
            return
        if trainer.is_global_zero:
            try:
                if position.is_between_steps(trainer):
                    self._save_last(trainer, wait_for_others=False)
                else:
                    self._write_held_best(trainer, wait_for_others=False)
            except InputError as error:  # perhaps a full disk ended the run
                rank_zero_warn(f"The state at the interruption is lost: {error}")

    # ------------------------------------------------------------------ contents

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Store loop counters from which Lightning resumes exactly, and with the best model its scores."""
        if self._is_saving_best and self.best_scores is not None:
            checkpoint[run_files.IN_CHECKPOINT] = run_files.for_checkpoint(self.best_scores)
        if trainer.state.fn == TrainerFn.FITTING and position.is_between_steps(trainer):
            position.store_position(
                checkpoint, position.current_position(trainer, self._validated_at), trainer
            )

    def state_dict(self) -> dict[str, Any]:
        """Return the best value so far, and the name of the best checkpoint in the same directory."""
        return {
            "monitor": self.monitor,
            "mode": self.mode,
            "best_model_score": self.best_model_score,
            "best_model_path": Path(self.best_model_path).name,
        }

    def _save_last(self, trainer: Trainer, wait_for_others: bool = True) -> None:
        if not self._may_save(trainer):
            return
        self._write_held_best(trainer, wait_for_others)  # never later than a last.ckpt that knows its value
        here = position.current_position(trainer, self._validated_at)
        if here == self._saved_at:
            return
        _log_everything_before(trainer)
        self.last_model_path = os.path.join(str(self.dirpath), "last.ckpt")
        if wait_for_others:
            self._save_checkpoint(trainer, self.last_model_path)
        else:
            checkpoint = trainer._checkpoint_connector.dump_checkpoint(weights_only=False)
            trainer.strategy.save_checkpoint(checkpoint, self.last_model_path)
        self._saved_at = here
        self._last_write = time.monotonic()

    def _write_held_best(self, trainer: Trainer, wait_for_others: bool) -> None:
        """Write the best model if it has been waiting in memory."""
        held, self._held_best = self._held_best, None
        if held is None:
            return
        self._forget_previous_best(trainer)
        trainer.strategy.save_checkpoint(held, self.best_model_path)  # on rank 0
        if wait_for_others:
            trainer.strategy.barrier("RunCheckpoint")
        if trainer.is_global_zero:
            for logger in trainer.loggers:
                logger.after_save_checkpoint(self)

    def _forget_previous_best(self, trainer: Trainer) -> None:
        if trainer.is_global_zero:
            run_files.forget_best(run_files.run_of(str(self.dirpath)))

    def _is_time_to_write(self, trainer: Trainer) -> bool:
        """Whether files are to be written now; rank 0's clock decides for all ranks."""
        if self.seconds_between_saves == 0 or not isinstance(
            trainer.strategy, (SingleDeviceStrategy, DDPStrategy)
        ):
            return True  # other strategies may save from all ranks, so their state cannot wait
        is_time = time.monotonic() - self._last_write >= self.seconds_between_saves
        return bool(trainer.strategy.broadcast(is_time))

    @staticmethod
    def _may_save(trainer: Trainer) -> bool:
        is_trial = bool(trainer.fast_dev_run) or trainer.sanity_checking  # type: ignore[attr-defined]
        return trainer.state.fn == TrainerFn.FITTING and not is_trial

    def _validated_score(self, trainer: Trainer) -> Tensor:
        score = trainer.callback_metrics.get(self.monitor)
        if score is None:
            known = ", ".join(sorted(trainer.callback_metrics)) or "none"
            raise InputError(
                f"`monitor={self.monitor}`: the validation logged no such metric. Choose one of these: {known}."
            )
        return score.detach().cpu().clone()

    def _is_better(self, score: Tensor) -> bool:
        if torch.isnan(score):
            return False
        if self.best_model_score is None:
            return True
        return bool(score > self.best_model_score if self.mode == "max" else score < self.best_model_score)

    def _set_best(self, path: str, score: Tensor) -> None:
        """Set every attribute in which Lightning and its loggers look for the best model."""
        self.best_model_path = self.kth_best_model_path = path
        self.best_model_score = self.kth_value = score
        self.best_k_models = {path: score}

    # ------------------------------------------------------------------ resuming

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Do nothing: ``on_load_checkpoint``, which knows the checkpoint's directory, restores the state."""

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Restore the position, and the best model from the checkpoint's present directory."""
        if trainer.state.fn != TrainerFn.FITTING:
            return
        here = self._resumed_at = self._saved_at = position.load_position(checkpoint)
        if here is not None:
            self._validated_at = None if here.validation_is_pending else here.total_batches
            max_steps = trainer.fit_loop.epoch_loop.max_steps
            if here.validation_is_pending and checkpoint["global_step"] == max_steps:
                # Lightning would stop at once, without the pending validation.
                self._postponed_max_steps = max_steps
                trainer.fit_loop.epoch_loop.max_steps = max_steps + 1
        self._take_over_best(trainer, checkpoint)

    def _take_over_best(self, trainer: Trainer, checkpoint: dict[str, Any]) -> None:
        source = Path(str(trainer.ckpt_path))
        best = source.parent / "best.ckpt"
        try:
            content = checkpoint if best == source else read_checkpoint(best)
            score = self._score_in(content)
        except InputError as error:
            recorded = self._score_in(checkpoint)
            if recorded is not None:
                rank_zero_warn(
                    f"The best checkpoint so far ({self.monitor} {float(recorded):.4f}) is lost, and best.ckpt will be "
                    f"the best from here on: {error}"
                )
            return
        if score is None:
            return
        target = Path(str(self.dirpath)) / "best.ckpt"
        if trainer.is_global_zero and best.resolve() != target.resolve():
            self._forget_previous_best(trainer)
            with best.open("rb") as original, complete_binary_file(target) as copy:
                shutil.copyfileobj(original, copy)
        self._set_best(str(target), score)
        self.best_scores = run_files.scores_in(content)
        self.best_is_start = not bool(content["state_dict"].get("objective_initialized", True))

    def _score_in(self, checkpoint: dict[str, Any]) -> Tensor | None:
        """Return the best value of the same metric that a checkpoint holds, from this class or from ModelCheckpoint."""
        for state in checkpoint.get("callbacks", {}).values():
            is_same = isinstance(state, dict) and state.get("monitor") == self.monitor
            if is_same and state.get("mode", self.mode) == self.mode:
                score = state.get("best_model_score")
                if score is not None and torch.isfinite(score):
                    return torch.as_tensor(score).cpu()
        return None


def _copied(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Return a copy in main memory, which later steps do not change."""
    elsewhere: dict[int, Tensor] = {}

    def find(value: Any) -> None:
        if isinstance(value, Tensor) and value.device.type != "cpu":
            elsewhere[id(value)] = value.detach().cpu()
        elif isinstance(value, dict):
            for entry in value.values():
                find(entry)
        elif isinstance(value, (list, tuple)):
            for entry in value:
                find(entry)

    find(checkpoint)
    return copy.deepcopy(checkpoint, dict(elsewhere))


def _log_everything_before(trainer: Trainer) -> None:
    """Write out the logs, so that a run that is killed and resumed from this checkpoint has all rows before it.

    Lightning passes a batch's metrics to the loggers after the hooks of its end, in which the checkpoint may be saved.
    """
    progress: Any = trainer.fit_loop.epoch_loop.batch_progress.current
    if progress.processed != progress.completed:
        trainer._logger_connector.update_train_step_metrics()
    for logger in trainer.loggers:
        logger.save()
