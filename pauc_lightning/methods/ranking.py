"""How well scores rank two classes, and whether chance can explain it."""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import Tensor

from pauc_lightning.metrics.functional import binary_partial_auc

FEWEST_PER_CLASS = 10
"""With fewer positives or negatives an AUC says too little about the ranking."""


class Ranking(NamedTuple):
    """An AUC and the number of samples of each class that it was computed from."""

    auc: float
    n_pos: int
    n_neg: int

    @classmethod
    def of(cls, scores: Tensor, target: Tensor) -> Ranking:
        """Return the ranking of finite scores; its AUC is NaN if a class is missing."""
        n_pos = int(target.sum())
        n_neg = len(target) - n_pos
        if min(n_pos, n_neg) == 0:
            return cls(math.nan, n_pos, n_neg)
        # The values have been checked, which takes as long as the AUC of a small batch.
        return cls(float(binary_partial_auc(scores, target, validate_args=False)), n_pos, n_neg)

    @property
    def can_be_judged(self) -> bool:
        """Whether both classes have enough samples."""
        return min(self.n_pos, self.n_neg) >= FEWEST_PER_CLASS

    @property
    def standard_error(self) -> float:
        """Standard error of the AUC under random scores."""
        return math.sqrt((self.n_pos + self.n_neg + 1) / (12 * self.n_pos * self.n_neg))

    @property
    def is_clearly_above_chance(self) -> bool:
        """Whether the AUC exceeds 0.5 by at least 0.1 and by four standard errors."""
        return self.can_be_judged and self.auc > 0.5 + max(0.1, 4 * self.standard_error)
