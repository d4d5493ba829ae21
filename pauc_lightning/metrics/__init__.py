"""Metrics for the partial AUC: torchmetrics classes here, stateless functions in ``functional``."""

from typing import TYPE_CHECKING

from pauc_lightning.lazy import lazy_names

if TYPE_CHECKING:
    from pauc_lightning.metrics.partial_auc import BinaryPartialAUC
    from pauc_lightning.metrics.partial_auc_interval import BinaryPartialAUCInterval
    from pauc_lightning.metrics.tpr_at_fpr import BinaryTPRAtFPR
    from pauc_lightning.metrics.tpr_at_fpr_interval import BinaryTPRAtFPRInterval
else:  # the functions need no torchmetrics, which takes three times as long to import as torch
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "partial_auc": ["BinaryPartialAUC"],
            "partial_auc_interval": ["BinaryPartialAUCInterval"],
            "tpr_at_fpr": ["BinaryTPRAtFPR"],
            "tpr_at_fpr_interval": ["BinaryTPRAtFPRInterval"],
        },
    )

__all__ = ["BinaryPartialAUC", "BinaryPartialAUCInterval", "BinaryTPRAtFPR", "BinaryTPRAtFPRInterval"]
