"""The partial AUC for gradient-boosted trees: an objective and a metric that XGBoost and LightGBM both understand.

- ``objective``: gradient and Hessian, from ``shares`` (who is inside the region) and ``pair_derivatives`` (the sums).
- ``metric``: the exact partial AUC after each round, for early stopping.
- ``calls``: the ways in which the libraries call either of them.

Neither library is imported here, so either is enough: ``pip install 'pauc-lightning[xgboost]'`` or ``[lightgbm]``.
"""

from pauc_lightning.trees.metric import PartialAUCMetric, partial_auc_metric
from pauc_lightning.trees.objective import PartialAUCObjective, partial_auc_objective

__all__ = ["PartialAUCMetric", "PartialAUCObjective", "partial_auc_metric", "partial_auc_objective"]
