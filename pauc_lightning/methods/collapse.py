"""One clear warning when a run has collapsed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import torch
from lightning.pytorch.utilities import rank_zero_warn
from torch import Tensor

from pauc_lightning.metrics.functional import binary_partial_auc

FEWEST_PER_CLASS = 10
"""Fewer positives or negatives say too little about the ranking to be judged by it."""

_SMALLER_STEPS = (
    "Lower the step sizes or `gradient_clip_norm` (if it is null, set it: 1 is a good start), and start again from the "
    "last good checkpoint."
)


class Ranking(NamedTuple):
    """An AUC, and how many samples of each class it comes from."""

    auc: float
    n_pos: int
    n_neg: int

    @classmethod
    def of(cls, scores: Tensor, target: Tensor) -> Ranking:
        """That of finite scores; the AUC is NaN where a class is missing."""
        n_pos = int(target.sum())
        n_neg = len(target) - n_pos
        auc = float(binary_partial_auc(scores, target)) if min(n_pos, n_neg) > 0 else math.nan
        return cls(auc, n_pos, n_neg)

    @property
    def can_be_judged(self) -> bool:
        """Whether there are enough samples of both classes."""
        return min(self.n_pos, self.n_neg) >= FEWEST_PER_CLASS

    @property
    def standard_error(self) -> float:
        """That of scores that have nothing to do with the labels."""
        return math.sqrt((self.n_pos + self.n_neg + 1) / (12 * self.n_pos * self.n_neg))

    @property
    def is_clearly_above_chance(self) -> bool:
        """Whether this cannot be luck, and is more than next to nothing."""
        return self.can_be_judged and self.auc > 0.5 + max(0.1, 4 * self.standard_error)


class CollapseMonitor:
    """Warns, once of each kind: scores not finite; nothing ranked any more; variables stuck at a bound.

    A network that has not learned to rank yet has not collapsed, and few samples rank badly now and then. So an AUC at
    chance counts in training only after one that was clearly above, and must last, above all on the validation part of
    a run that never ranked it.

    Args:
        constant_patience: How many looks in a row may see constant scores.
        unranked_patience: How many looks in a row may see positives rank no higher than negatives, after better ones.
        validation_patience: How many validations in a row may be at chance, if an earlier one was clearly above it, and
            if none was.
        bound_patience: How many looks in a row a variable may spend at its bound.
    """

    def __init__(
        self,
        constant_patience: int = 3,
        unranked_patience: int = 5,
        validation_patience: tuple[int, int] = (2, 3),
        bound_patience: int = 20,
    ) -> None:
        self.constant_patience = constant_patience
        self.unranked_patience = unranked_patience
        self.validation_patience = validation_patience
        self.bound_patience = bound_patience
        self._has_ranked_training = self._has_ranked_validation = False
        self._last_step = -1
        self._times_in_a_row: Counter[str] = Counter()
        self._has_warned: set[str] = set()
        self.found: list[tuple[int, str]] = []
        """The collapses warned of: the step, and what was seen there."""

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
            self._warn(step, "not finite", f"the scores are not finite any more. {_SMALLER_STEPS}")
            return
        ranking = Ranking.of(scores, target)
        if min(ranking.n_pos, ranking.n_neg) > 0:
            self._look_for_constant_scores(step, scores)
        if ranking.can_be_judged:
            self._look_at_ranking(step, ranking)
        stuck = [
            name
            for name, is_stuck in at_bound.items()
            if self._has_lasted(name, bool(is_stuck), self.bound_patience)
        ]
        if stuck:
            self._warn(
                step,
                "bounds",
                f"{' and '.join(stuck)} sat at the bound for {self.bound_patience} looks in a row. Lower its step "
                "size, raise `omega`, or warm up longer so that it starts near its optimum.",
            )

    def look_at_start(self, scores: Tensor, target: Tensor) -> None:
        """Learn how well the network ranks before the first step. The arguments are those of :meth:`look`."""
        if bool(torch.isfinite(scores).all()):
            self._has_ranked_training |= Ranking.of(scores, target).is_clearly_above_chance

    def look_at_validation(self, step: int, ranking: Ranking) -> None:
        """Judge the ranking of the validation part."""
        if not ranking.can_be_judged:
            return
        # A collapsed network may still rank a little.
        margin = ranking.standard_error if self._has_ranked_validation else 0.01
        patience = self.validation_patience[0 if self._has_ranked_validation else 1]
        if self._has_lasted("validation", ranking.auc <= 0.5 + margin, patience):
            self._warn_of_ranking(step, f"on the validation part, {patience} times in a row", ranking)
        self._has_ranked_validation |= ranking.is_clearly_above_chance

    def _look_for_constant_scores(self, step: int, scores: Tensor) -> None:
        low, high = float(scores.min()), float(scores.max())
        threshold = min(1e-3, max(1e-5, 0.01 * high))  # where positives are rare, good scores are small
        if self._has_lasted("constant", high - low < threshold, self.constant_patience):
            self._warn(
                step,
                "ranking",
                f"all scores of the batch are {low:.4g}, or nearly so. {_SMALLER_STEPS} "
                "Or warm up longer (`warmup_epochs`), or raise `omega` if the method has it. Another cause is a "
                "threshold that started above all losses, which starting in closed form after a warm-up avoids.",
            )

    def _look_at_ranking(self, step: int, ranking: Ranking) -> None:
        is_unranked = self._has_ranked_training and ranking.auc <= 0.5
        if self._has_lasted("unranked", is_unranked, self.unranked_patience):
            self._warn_of_ranking(step, f"in the last {self.unranked_patience} batches looked at", ranking)
        self._has_ranked_training |= ranking.is_clearly_above_chance

    def _warn_of_ranking(self, step: int, where: str, ranking: Ranking) -> None:
        self._warn(
            step,
            "ranking",
            f"positives rank no higher than negatives {where} (AUC {ranking.auc:.3f}). The usual cause is a step that "
            f"was too large. {_SMALLER_STEPS} If the network was no better to begin with, warm up longer "
            "(`warmup_epochs`).",
        )

    def _has_lasted(self, condition: str, holds: bool, patience: int) -> bool:
        self._times_in_a_row[condition] = self._times_in_a_row[condition] + 1 if holds else 0
        return self._times_in_a_row[condition] >= patience

    def _warn(self, step: int, kind: str, message: str) -> None:
        if kind == "bounds" and "ranking" in self._has_warned:
            return  # where nothing is ranked, variables at their bounds are no news
        if kind not in self._has_warned:
            self._has_warned.add(kind)
            self.found.append((step, message.split(". ")[0]))
            rank_zero_warn(f"Training has collapsed by step {step}: {message}")
