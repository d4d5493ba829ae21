"""Stateless metrics in plain torch: scores and labels in, a value or a curve out."""

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
