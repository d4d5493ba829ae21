"""One clear warning when a run has collapsed."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor


class CollapseMonitor:
    """Warns once if scores turn constant or non-finite, or if a variable sticks to a bound where nothing is learned.

    Args:
        min_spread: Scores of a batch that differ by less than this are called constant.
        patience: How many looks in a row a variable may spend at its bound.
    """

    def __init__(self, min_spread: float = 1e-5, patience: int = 20) -> None:
        self.min_spread = min_spread
        self.patience = patience
        self._looks_at_bound: dict[str, int] = {}
        self._has_warned: set[str] = set()

    def look(self, step: int, scores: Tensor, at_bound: Mapping[str, Tensor]) -> None:
        """Judge one batch. Waits for the device, so not for every step.

        Args:
            step: The step, for the message.
            scores: Sigmoid scores of the batch.
            at_bound: Which variables are at a bound that they should not stay at.
        """
        if not bool(torch.isfinite(scores).all()):
            self._warn(
                step,
                "scores",
                "the scores are not finite any more. Lower the step sizes or set `gradient_clip_norm`, and start "
                "again from the last good checkpoint.",
            )
        elif len(scores) > 1 and float(scores.max() - scores.min()) < self.min_spread:
            self._warn(
                step,
                "scores",
                f"all scores of the batch are {float(scores[0]):.4g}, so nothing is ranked any more. Lower the step "
                "sizes, warm up longer (`warmup_epochs`), or raise `omega` if the method has it. The usual cause is a "
                "threshold that started above all losses, which starting in closed form after a warm-up avoids.",
            )
        for name, is_stuck in at_bound.items():
            self._looks_at_bound[name] = self._looks_at_bound.get(name, 0) + 1 if bool(is_stuck) else 0
            if self._looks_at_bound[name] >= self.patience:
                self._warn(
                    step,
                    name,
                    f"{name} has sat at its bound for {self.patience} looks in a row. Lower its step size, raise "
                    "`omega`, or warm up longer so that it starts near its optimum.",
                )

    def _warn(self, step: int, about: str, message: str) -> None:
        if about not in self._has_warned:
            self._has_warned.add(about)
            rank_zero_warn(f"Training has collapsed by step {step}: {message}")
