"""Metrics for the partial AUC: torchmetrics classes here, stateless functions in ``functional``."""

from typing import TYPE_CHECKING

from pauc_lightning.lazy import lazy_names

if TYPE_CHECKING:
    from pauc_lightning.metrics.partial_auc import BinaryPartialAUC
else:  # the functions need no torchmetrics, which takes three times as long to import as torch
    __getattr__, __dir__ = lazy_names(__name__, {"partial_auc": ["BinaryPartialAUC"]})

__all__ = ["BinaryPartialAUC"]
