"""One clear warning when a run has collapsed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import torch
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor

from pauc_lightning.metrics.functional import binary_partial_auc

FEWEST_PER_CLASS = 10
"""Batches with fewer positives or negatives say too little about the ranking to be judged by it."""


class CollapseMonitor:
    """Warns once if nothing is ranked any more, or if a variable sticks to a bound where nothing is learned.

    Args:
        min_spread: Scores of a batch that differ by less than this are called constant.
        unranked_patience: How many batches in a row may rank positives no higher than negatives.
        bound_patience: How many looks in a row a variable may spend at its bound.
    """

    def __init__(
        self, min_spread: float = 1e-5, unranked_patience: int = 5, bound_patience: int = 20
    ) -> None:
        self.min_spread = min_spread
        self.unranked_patience = unranked_patience
        self.bound_patience = bound_patience
        self._last_step = -1
        self._looks_in_a_row: Counter[str] = Counter()
        self._has_warned: set[str] = set()

    def look(self, step: int, scores: Tensor, target: Tensor, at_bound: Mapping[str, Tensor]) -> None:
        """Judge one training batch, the first time it is shown. Waits for the device, so not for every step.

        Args:
            step: The step, for the message.
            scores: Sigmoid scores of the batch.
            target: Its labels, 0 or 1.
            at_bound: Which variables are at a bound that they should not stay at.
        """
        if step == self._last_step:
            return
        self._last_step = step
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
                f"all scores of the batch are {float(scores[0]):.4g}, so nothing is ranked any more. Set "
                "`gradient_clip_norm`, lower the step sizes, warm up longer (`warmup_epochs`), or raise `omega` if the "
                "method has it. Another cause is a threshold that started above all losses, which starting in closed "
                "form after a warm-up avoids.",
            )
        else:
            self._look_at_ranking(step, scores, target)
        for name, is_stuck in at_bound.items():
            if self._has_lasted(name, bool(is_stuck), self.bound_patience):
                self._warn(
                    step,
                    name,
                    f"{name} has sat at its bound for {self.bound_patience} looks in a row. Lower its step size, "
                    "raise `omega`, or warm up longer so that it starts near its optimum.",
                )

    def look_at_validation(self, step: int, auc: float) -> None:
        """Judge the whole AUC of the validation part."""
        if auc <= 0.5:
            self._warn_of_ranking(step, f"on the validation part (AUC {auc:.3f})")

    def _look_at_ranking(self, step: int, scores: Tensor, target: Tensor) -> None:
        n_pos = int(target.sum())
        if min(n_pos, len(target) - n_pos) < FEWEST_PER_CLASS:
            return
        auc = float(binary_partial_auc(scores, target))
        if self._has_lasted("ranking", auc <= 0.5, self.unranked_patience):
            self._warn_of_ranking(step, f"in {self.unranked_patience} batches in a row (AUC {auc:.3f})")

    def _warn_of_ranking(self, step: int, where: str) -> None:
        self._warn(
            step,
            "scores",
            f"positives rank no higher than negatives {where}. The usual cause is a step that was too large: set "
            "`gradient_clip_norm` (1 is a good start) or lower the step sizes. If the network was no better to begin "
            "with, warm up longer (`warmup_epochs`).",
        )

    def _has_lasted(self, condition: str, holds: bool, patience: int) -> bool:
        self._looks_in_a_row[condition] = self._looks_in_a_row[condition] + 1 if holds else 0
        return self._looks_in_a_row[condition] >= patience

    def _warn(self, step: int, about: str, message: str) -> None:
        # Where the scores have collapsed, variables at their bounds are no news.
        if not self._has_warned & {about, "scores"}:
            self._has_warned.add(about)
            rank_zero_warn(f"Training has collapsed by step {step}: {message}")
