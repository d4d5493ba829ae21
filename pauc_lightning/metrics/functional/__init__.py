"""Stateless metrics in plain torch: scores and labels in, a value or a curve out.

``partial_auc`` computes values, with ``ties`` for ties at the region's edges; ``roc`` has the curve, ``inputs`` checks.
"""

from pauc_lightning.metrics.functional.partial_auc import (
    PartialAUCBounds,
    binary_partial_auc,
    convert_partial_auc,
    partial_auc_from_counts,
)
from pauc_lightning.metrics.functional.roc import RocCurve

__all__ = [
    "PartialAUCBounds",
    "RocCurve",
    "binary_partial_auc",
    "convert_partial_auc",
    "partial_auc_from_counts",
]
