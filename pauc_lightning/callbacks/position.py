"""The position of a run, and loop counters from which Lightning resumes exactly there.

Lightning (2.5 to 2.6) stores its loop counters as they are when a checkpoint is saved, and infers the position from
them when it resumes. It is wrong in these cases, which the tests of this module cover:

- at an epoch's last batch the counters of a resumed run are one too low, so the next resume trains too long;
- a run that ``max_steps`` ends in mid-epoch counts that epoch as complete, so the rest of it is skipped;
- with ``max_steps``, a run resumed between two epochs counts as resumed within one, and the loggers' clock jumps;
- a checkpoint saved after a step but before the validation due there is resumed without that validation.

Checkpoints therefore store counters that Lightning interprets correctly, computed from the :class:`Position`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from lightning.pytorch import Trainer

KEY = "pauc_position"
"""The key of the position in a checkpoint."""


class Position(NamedTuple):
    """A place between two optimizer steps of a run.

    Attributes:
        epochs: Number of complete epochs, including their validation.
        batches: Number of batches done in the next epoch; 0 if it has not begun.
        total_batches: Number of batches done since the run began.
        validation_is_pending: Whether a validation is due here and has not ended.
    """

    epochs: int
    batches: int
    total_batches: int
    validation_is_pending: bool = False


def is_between_steps(trainer: Trainer) -> bool:
    """Return whether no batch is being trained on, so that weights, optimizer and counters are consistent.

    Lightning counts a batch as ready before it is used, and as processed after the optimizer's step. An interruption in
    between leaves the two numbers different.
    """
    progress = trainer.fit_loop.epoch_loop.batch_progress.current
    return bool(progress.ready == progress.processed)  # type: ignore[attr-defined]


def current_position(trainer: Trainer, validated_at: int | None) -> Position:
    """Return the position of a run that is between two steps.

    Args:
        trainer: The trainer, fitting.
        validated_at: Number of batches, since the run began, after which the latest validation ended.
    """
    epoch: Any = trainer.fit_loop.epoch_progress.current
    batch: Any = trainer.fit_loop.epoch_loop.batch_progress
    done, total = batch.current.processed, batch.total.processed
    is_whole = batch.is_last_batch or done >= trainer.num_training_batches
    if epoch.started == epoch.processed:  # between two epochs
        if done == 0 or is_whole:
            return Position(epoch.processed, 0, total)
        # `max_steps` ended the epoch early, and Lightning counts it as complete.
        return Position(epoch.processed - 1, done, total)
    is_due = validation_is_due(trainer, epoch.processed, done, total)
    if is_whole and done > 0 and not is_due:
        return Position(epoch.processed + 1, 0, total)
    return Position(epoch.processed, done, total, is_due and validated_at != total)


def validation_is_due(trainer: Trainer, epochs: int, batches: int, total_batches: int) -> bool:
    """Return whether Lightning validates after that batch."""
    every = trainer.check_val_every_n_epoch
    if batches == 0 or not trainer.enable_validation or (every is not None and (epochs + 1) % every != 0):
        return False
    interval: float | None = trainer.val_check_batch
    if interval is None:  # validation by the clock
        return False
    if math.isinf(interval):
        return bool(trainer.fit_loop.epoch_loop.batch_progress.is_last_batch)
    return (total_batches if every is None else batches) % interval == 0


def store_position(checkpoint: dict[str, Any], position: Position, trainer: Trainer) -> None:
    """Replace the loop counters in ``checkpoint`` by those that make Lightning resume at ``position``."""
    epochs, batches, total, is_pending = position
    checkpoint[KEY] = position._asdict()
    checkpoint["epoch"] = max(
        0, epochs - (batches == 0)
    )  # the epoch of the latest batch, also after the last epoch
    fit_loop = checkpoint["loops"]["fit_loop"]
    # An epoch that has begun and is not processed: Lightning restarts in it, without the hooks of its start.
    begun = epochs + (batches > 0)
    epoch_counts = {"ready": begun, "started": begun, "processed": epochs, "completed": epochs}
    fit_loop["epoch_progress"] = {"total": {**epoch_counts}, "current": {**epoch_counts}}
    # All four counts equal: Lightning calls this "restarted on last" and corrects nothing.
    fit_loop["epoch_loop.batch_progress"] = {
        "total": _all_equal(total),
        "current": _all_equal(batches),
        "is_last_batch": batches > 0 and fit_loop["epoch_loop.batch_progress"]["is_last_batch"],
    }
    # One validation batch that has started and not been processed: Lightning runs the validation, all of it.
    interrupted = {**_all_equal(0), "ready": int(is_pending), "started": int(is_pending)}
    fit_loop["epoch_loop.val_loop.batch_progress"] = {
        "total": interrupted,
        "current": _all_equal(0),
        "is_last_batch": False,
    }
    # The loggers' clock. Where a validation is due, Lightning passes through the end of the batch again, and the
    # clock moves there, whether the validation is pending or not.
    moves_on_resume = validation_is_due(trainer, epochs, batches, total)
    fit_loop["epoch_loop.state_dict"]["_batches_that_stepped"] = total - moves_on_resume
    for loader in fit_loop["state_dict"].get("combined_loader", []):
        if (
            "batches_done" in loader
        ):  # a ResumableLoader, which may have fetched a batch that was not trained on
            loader.update(epoch=epochs, batches_done=batches)


def load_position(checkpoint: dict[str, Any]) -> Position | None:
    """Return the position that :func:`store_position` stored, or None."""
    stored = checkpoint.get(KEY)
    return None if stored is None else Position(**stored)


def begin_epoch_anew(trainer: Trainer) -> None:
    """Make Lightning start the next epoch from its beginning.

    With ``max_steps`` Lightning treats every resumed run as one within an epoch: it would pass through the end of a
    batch that does not exist, and the loggers' clock would move by one step.
    """
    trainer.fit_loop._restarting = False
    trainer.fit_loop.epoch_loop.restarting = False


def _all_equal(count: int) -> dict[str, int]:
    return {"ready": count, "started": count, "processed": count, "completed": count}
