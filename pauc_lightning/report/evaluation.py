"""What a model's scores say about a region: the values, intervals and curves of a report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.metrics.functional import (
    Interval,
    RocBand,
    RocCurve,
    partial_auc_interval,
    roc_band,
    tpr_at_fpr_interval,
)
from pauc_lightning.region import Region

Floats = NDArray[np.float64]

RESAMPLES = 1000
"""Resamples of the bootstrap behind the bands and the intervals of the recall."""

_POINTS = 120
"""Rates at which the band is computed, in the region and in the whole square each."""


@dataclass(frozen=True)
class Evaluation:
    """The scores and labels of one part of the data, judged in one region.

    Args:
        score: Finite scores, shape ``(samples,)``.
        label: Labels 0 and 1, shape ``(samples,)``.
        region: The region.
        confidence: Probability with which intervals cover the true value.
    """

    score: Floats
    label: NDArray[np.integer]
    region: Region
    confidence: float = 0.95

    @property
    def positives(self) -> Floats:
        """The scores of the positives."""
        found: Floats = self.score[self.label == 1]
        return found

    @property
    def negatives(self) -> Floats:
        """The scores of the negatives."""
        found: Floats = self.score[self.label == 0]
        return found

    @cached_property
    def partial_auc(self) -> Interval:
        """The partial AUC of the region."""
        return self.value(self.region)

    @cached_property
    def auc(self) -> Interval:
        """The area under the whole curve."""
        return self.value(Region())

    def value(self, region: Region) -> Interval:
        """Compute the partial AUC of another region."""
        return partial_auc_interval(
            self.score,
            self.label,
            region.max_fpr,
            region.min_tpr,
            region.min_fpr,
            confidence=self.confidence,
        )

    @cached_property
    def recall(self) -> Interval:
        """The recall at the region's largest false-positive rate."""
        return tpr_at_fpr_interval(
            self.score, self.label, self.region.max_fpr, confidence=self.confidence, n_resamples=RESAMPLES
        )

    @cached_property
    def curve(self) -> RocCurve:
        """The ROC curve."""
        return RocCurve.from_scores(self.score, self.label)

    @cached_property
    def band(self) -> RocBand:
        """The curve with its confidence band, at false-positive rates that are denser in the region."""
        steps = np.linspace(0.0, 1.0, _POINTS + 1)
        inside = self.region.min_fpr + steps * (self.region.max_fpr - self.region.min_fpr)
        rates = np.unique(np.concatenate([steps, inside]))
        return roc_band(self.score, self.label, rates, confidence=self.confidence, n_resamples=RESAMPLES)
