"""One clear warning when a run has collapsed."""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor


class CollapseWarning(Callback):
    """Warn once if scores turn constant or non-finite, or if a dual variable sticks to its bound.

    Looks at the last batch every ``log_every_n_steps`` steps, so it costs nothing in between.

    Args:
        min_spread: Scores of a batch that differ by less than this are called constant.
        patience: How many looks in a row a variable may spend at its bound.
    """

    def __init__(self, min_spread: float = 1e-5, patience: int = 20) -> None:
        self.min_spread = min_spread
        self.patience = patience
        self._looks_at_bound: dict[str, int] = {}
        self._has_warned: set[str] = set()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Look at the scores and the variables now and then."""
        if trainer.global_step % trainer.log_every_n_steps != 0:
            return
        scores = getattr(pl_module, "last_scores", None)
        if isinstance(scores, Tensor) and scores.numel() > 1:
            self._check_scores(trainer, scores)
        objective = getattr(pl_module, "objective", None)
        if not getattr(pl_module, "is_warming_up", False) and hasattr(objective, "variables_at_bound"):
            self._check_variables(trainer, objective.variables_at_bound())

    def _check_scores(self, trainer: Trainer, scores: Tensor) -> None:
        if not bool(torch.isfinite(scores).all()):
            self._warn(
                trainer,
                "scores",
                "the scores are not finite any more. Lower the step sizes, or set `gradient_clip_norm`, and "
                "start again from the last good checkpoint.",
            )
        elif float(scores.max() - scores.min()) < self.min_spread:
            self._warn(
                trainer,
                "scores",
                f"all scores of the batch are {float(scores[0]):.4g}, so nothing is ranked any more. Lower the "
                "step sizes, warm up longer (`warmup_epochs`), or raise `omega`; a threshold that started above all "
                "losses is the usual cause, which initialisation after a warm-up avoids.",
            )

    def _check_variables(self, trainer: Trainer, at_bound: dict[str, Tensor]) -> None:
        for name, is_stuck in at_bound.items():
            self._looks_at_bound[name] = self._looks_at_bound.get(name, 0) + 1 if bool(is_stuck) else 0
            if self._looks_at_bound[name] == self.patience:
                self._warn(
                    trainer,
                    name,
                    f"the variable {name} has sat at its bound for {self.patience} looks in a row. Lower its step "
                    "size, raise `omega`, or warm up longer so that it starts near its optimum.",
                )

    def _warn(self, trainer: Trainer, about: str, message: str) -> None:
        if about not in self._has_warned:
            self._has_warned.add(about)
            rank_zero_warn(f"Training has collapsed at step {trainer.global_step}: {message}", stacklevel=2)
