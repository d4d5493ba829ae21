"""The length of a run: whether it outlasts the warm-up, and where a schedule ends."""

from __future__ import annotations

import math

from lightning.pytorch import Trainer

from pauc_lightning.errors import InputError


def steps_in_total(trainer: Trainer) -> float:
    """Return the number of steps after which training ends; infinite if it is not known."""
    max_epochs, max_steps = trainer.max_epochs, trainer.max_steps
    limits = [
        *([max_epochs * trainer.num_training_batches] if max_epochs not in (None, -1) else []),
        *([max_steps] if max_steps != -1 else []),
    ]
    return min(limits, default=math.inf)


def check_epochs(method: str, warmup_epochs: int, trainer: Trainer) -> None:
    """Refuse a run whose ``max_epochs`` ends it with its warm-up."""
    max_epochs = trainer.max_epochs
    if max_epochs is None or max_epochs == -1 or _is_trial(trainer):
        return
    if 0 < max_epochs <= warmup_epochs:
        raise InputError(
            f"`warmup_epochs={warmup_epochs}` leaves nothing of `trainer.max_epochs={max_epochs}` for {method} itself, "
            "which would train cross-entropy only: raise max_epochs, lower warmup_epochs, or choose the method CE."
        )


def check_steps(method: str, warmup_epochs: int, trainer: Trainer) -> None:
    """Refuse a run whose ``max_steps`` ends it within its warm-up; the length of an epoch must be known."""
    warmup_steps = warmup_epochs * trainer.num_training_batches if warmup_epochs > 0 else 0
    if math.isinf(warmup_steps) or trainer.max_steps == -1 or _is_trial(trainer):
        return
    if 0 < trainer.max_steps <= warmup_steps:
        raise InputError(
            f"`warmup_epochs={warmup_epochs}` are {warmup_steps} steps here and leave nothing of "
            f"`trainer.max_steps={trainer.max_steps}` for {method} itself, which would train cross-entropy only: raise "
            "max_steps, lower warmup_epochs, or choose the method CE."
        )


def check_schedule_ends(warmup_epochs: int, trainer: Trainer) -> None:
    """Refuse a schedule that goes to zero in a run whose end is not known."""
    is_warmup_known = warmup_epochs == 0 or math.isfinite(trainer.num_training_batches)
    if math.isinf(steps_in_total(trainer)) or not is_warmup_known:
        raise InputError(
            '`schedule="cosine"` needs to know when training ends: give `trainer.max_steps`, or `trainer.max_epochs` '
            "with data of known length (with a warm-up the length must be known in any case), or choose "
            '`schedule="constant"`.'
        )


def _is_trial(trainer: Trainer) -> bool:
    """Return whether this is a trial run (``fast_dev_run``), which has limits of its own."""
    return bool(getattr(trainer, "fast_dev_run", False))
