"""Stateless metrics: tensors in, a scalar out."""

from pauc_lightning.metrics.functional.partial_auc import (
    PartialAUCBounds,
    binary_partial_auc,
    convert_partial_auc,
    partial_auc_from_counts,
)

__all__ = ["PartialAUCBounds", "binary_partial_auc", "convert_partial_auc", "partial_auc_from_counts"]
