"""Stateless metrics in plain torch: scores and labels in, a value or a curve out.

``partial_auc`` computes values, with ``ties`` for ties at the region's edges; ``roc`` has the curve, ``inputs`` checks.
``intervals`` adds confidence intervals, by the ``influence`` of the samples or the ``bootstrap`` of the ``cells``,
which an ``urn`` draws.
``operating_point`` chooses and evaluates thresholds, with the intervals of shares in ``binomial``. ``band`` is the
confidence band of the ROC curve, and ``reliability`` compares probabilities with frequencies.
"""

from pauc_lightning.metrics.functional.band import RocBand, roc_band
from pauc_lightning.metrics.functional.binomial import binomial_interval
from pauc_lightning.metrics.functional.interval import Interval
from pauc_lightning.metrics.functional.intervals import (
    partial_auc_difference,
    partial_auc_interval,
    tpr_at_fpr_interval,
)
from pauc_lightning.metrics.functional.operating_point import (
    OperatingPoint,
    OperatingPointIntervals,
    negatives_needed,
    operating_point,
    operating_point_intervals,
    threshold_for_fpr,
    tpr_at_fpr,
)
from pauc_lightning.metrics.functional.partial_auc import (
    PartialAUCBounds,
    binary_partial_auc,
    convert_partial_auc,
    partial_auc_from_counts,
)
from pauc_lightning.metrics.functional.reliability import (
    ReliabilityBins,
    brier_score,
    calibration_error,
    reliability_bins,
)
from pauc_lightning.metrics.functional.roc import RocCurve

__all__ = [
    "Interval",
    "OperatingPoint",
    "OperatingPointIntervals",
    "PartialAUCBounds",
    "ReliabilityBins",
    "RocBand",
    "RocCurve",
    "binary_partial_auc",
    "binomial_interval",
    "brier_score",
    "calibration_error",
    "convert_partial_auc",
    "negatives_needed",
    "operating_point",
    "operating_point_intervals",
    "partial_auc_difference",
    "partial_auc_from_counts",
    "partial_auc_interval",
    "reliability_bins",
    "roc_band",
    "threshold_for_fpr",
    "tpr_at_fpr",
    "tpr_at_fpr_interval",
]
