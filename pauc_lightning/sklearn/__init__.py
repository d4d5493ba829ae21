"""The partial AUC in scikit-learn: a classifier trained for it, and scorers that measure it. No Lightning is imported.

- For users: ``classifier`` and ``scorers``.
- Inside the classifier: ``settings`` checks its arguments, ``columns`` standardises the inputs, ``holdout`` sets
  samples aside, ``losses`` has the methods by name, ``start`` makes the network and warms up a linear one, ``training``
  is the loop, ``thresholds`` chooses the operating point.
"""

from pauc_lightning.sklearn.classifier import PartialAUCClassifier
from pauc_lightning.sklearn.scorers import partial_auc_scorer, tpr_at_fpr_scorer

__all__ = ["PartialAUCClassifier", "partial_auc_scorer", "tpr_at_fpr_scorer"]
