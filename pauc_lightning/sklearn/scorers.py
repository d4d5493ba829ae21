"""Scorers for ``GridSearchCV``, ``cross_validate`` and their like: the partial AUC, and the recall at a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pauc_lightning.arguments import check_number
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import binary_partial_auc, tpr_at_fpr
from pauc_lightning.region import Region


def partial_auc_scorer(
    *, max_fpr: float, min_tpr: float = 0.0, min_fpr: float = 0.0, pos_label: Any = None
) -> PartialAUCScorer:
    """Make a scorer of the partial AUC: the area under the ROC curve inside the region, as a share of the region.

    It works with every classifier of two classes that has ``decision_function`` or ``predict_proba``, and can be
    pickled. scikit-learn's own ``roc_auc_score(max_fpr=...)`` is the same area on another scale (McClish's), and
    one-way only.

    Args:
        max_fpr: Largest false-positive rate that counts, in (0, 1].
        min_tpr: Smallest true-positive rate that counts, in [0, 1); 0 for a one-way region.
        min_fpr: Smallest false-positive rate that counts, for a band of rates.
        pos_label: The label of the positives; None means the second of the classifier's ``classes_``, such as 1, True
            or "yes".

    Returns:
        A scorer, called as ``scorer(estimator, X, y)``.

    Example:
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.model_selection import cross_val_score
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = make_pipeline(StandardScaler(), LogisticRegression())
        >>> bool(cross_val_score(model, X, y, scoring=partial_auc_scorer(max_fpr=0.1)).mean() > 0.9)
        True
    """
    return PartialAUCScorer(Region(max_fpr, min_tpr, min_fpr), pos_label)


def tpr_at_fpr_scorer(*, max_fpr: float, pos_label: Any = None) -> TPRAtFPRScorer:
    """Make a scorer of the recall at a false-positive budget: the best that a threshold on these samples can reach.

    The threshold is chosen on the samples that are scored. Whether a threshold chosen elsewhere keeps the budget is
    another question: see :func:`~pauc_lightning.metrics.functional.threshold_for_fpr`.

    Args:
        max_fpr: The budget: the largest false-positive rate, in [0, 1].
        pos_label: The label of the positives; None means the second of the classifier's ``classes_``.

    Returns:
        A scorer, called as ``scorer(estimator, X, y)``.

    Example:
        >>> tpr_at_fpr_scorer(max_fpr=1.5)
        Traceback (most recent call last):
        pauc_lightning.errors.InputError: `max_fpr` must be a finite number in [0, 1], got 1.5: for 1 % write 0.01.
    """
    check_number("max_fpr", max_fpr, at_least=0, at_most=1, hint="for 1 % write 0.01")
    return TPRAtFPRScorer(float(max_fpr), pos_label)


# Not made by sklearn.metrics.make_scorer: several such scorers in one evaluation share one response of the estimator,
# whose sign is that of the first one's pos_label.


@dataclass(frozen=True)
class PartialAUCScorer:
    """What :func:`partial_auc_scorer` makes.

    Attributes:
        region: The region that counts.
        pos_label: The label of the positives, or None.
    """

    region: Region
    pos_label: Any = None

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        """Compute the partial AUC of the estimator's scores."""
        scores, target = scores_and_targets(estimator, X, y, self.pos_label)
        region = self.region
        value = binary_partial_auc(scores, target, region.max_fpr, region.min_tpr, region.min_fpr)
        return float(value)


@dataclass(frozen=True)
class TPRAtFPRScorer:
    """What :func:`tpr_at_fpr_scorer` makes.

    Attributes:
        max_fpr: The budget.
        pos_label: The label of the positives, or None.
    """

    max_fpr: float
    pos_label: Any = None

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        """Compute the recall of the estimator's scores at the budget."""
        return tpr_at_fpr(*scores_and_targets(estimator, X, y, self.pos_label), self.max_fpr).tpr


def scores_and_targets(
    estimator: Any, X: Any, y: ArrayLike, pos_label: Any
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Score samples so that larger means more like the positives, and mark the positives among them.

    ``decision_function`` is preferred: a sigmoid rounds the highest scores to the same value.

    Args:
        estimator: A fitted classifier of two classes.
        X: Samples.
        y: Their labels, shape ``(n,)``.
        pos_label: The label of the positives; None means the second class.

    Raises:
        InputError: If the estimator has no scores or not two classes, or labels are unknown to it.
    """
    classes = np.asarray(getattr(estimator, "classes_", ()))
    if classes.shape != (2,):
        raise InputError(
            f"`estimator` must be a fitted classifier of two classes, got {type(estimator).__name__} with the classes "
            f"{classes.tolist()}: a ROC curve has positives and negatives only."
        )
    if pos_label is not None and pos_label not in classes.tolist():
        raise InputError(
            f"`pos_label` must be one of the classes {classes.tolist()}, got {pos_label!r}: name the label of the "
            "positives, or leave it out for the second."
        )
    labels = np.asarray(y)
    unknown = labels[~np.isin(labels, classes)]
    if len(unknown) > 0:
        raise InputError(
            f"`y` must hold the classes {classes.tolist()} that the estimator knows, got {unknown.tolist()[0]!r}: fit "
            "it on such labels."
        )
    number = 1 if pos_label is None else classes.tolist().index(pos_label)
    if hasattr(estimator, "decision_function"):
        second = np.asarray(estimator.decision_function(X), dtype=np.float64)
        return second if number == 1 else -second, labels == classes[number]
    if not hasattr(estimator, "predict_proba"):
        raise InputError(
            f"`estimator` must have decision_function or predict_proba, got {type(estimator).__name__}: a ROC curve "
            "needs scores."
        )
    columns = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    return columns[:, number], labels == classes[number]
