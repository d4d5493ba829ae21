"""Step sizes that change during a run, as a function of the step number alone, so that a resumed run has the same."""

from __future__ import annotations

import math
from typing import Literal

from lightning.pytorch import Trainer
from torch.optim import Optimizer

from pauc_lightning.methods.length import steps_in_total

Schedule = Literal["constant", "cosine"]


def set_step_sizes(optimizer: Optimizer, schedule: Schedule, warmup_epochs: int, trainer: Trainer) -> None:
    """Set the step sizes of the optimizer's groups for the next step.

    The warm-up and the method each have a schedule of their own, from the full step size down to zero. A
    ``torch.optim.lr_scheduler`` would need the length of the run when the optimizers are built, before Lightning knows
    it.

    Args:
        optimizer: The optimizer that is stepped next.
        schedule: "constant" leaves the step sizes as they are.
        warmup_epochs: Length of the warm-up.
        trainer: The trainer, which knows the step number and the length of the run.
    """
    if schedule == "constant":
        return
    # An epoch may have infinitely many batches, and 0 times infinity is NaN.
    warmup_steps = warmup_epochs * trainer.num_training_batches if warmup_epochs > 0 else 0
    is_warmup = trainer.current_epoch < warmup_epochs
    first, end = (0, warmup_steps) if is_warmup else (warmup_steps, steps_in_total(trainer))
    factor = 0.5 * (1 + math.cos(math.pi * (trainer.global_step - first) / (end - first)))
    for group in optimizer.param_groups:
        group["lr"] = factor * group.setdefault("initial_lr", group["lr"])
