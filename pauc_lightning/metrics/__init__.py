"""Metrics for the partial AUC: torchmetrics classes here, stateless functions in ``functional``."""

from pauc_lightning.metrics.partial_auc import BinaryPartialAUC

__all__ = ["BinaryPartialAUC"]
