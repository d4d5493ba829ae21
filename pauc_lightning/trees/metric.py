"""The exact partial AUC after each round of boosting, as XGBoost and LightGBM ask for it."""

from __future__ import annotations

from typing import Any, Final

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.region import Region
from pauc_lightning.trees.calls import read_call

_NOT_LIGHTGBM: Final = object()


class PartialAUCMetric:
    """The partial AUC of the predictions, by :func:`~pauc_lightning.metrics.functional.binary_partial_auc`.

    Its result depends on who calls it: ``(name, value)`` for ``xgboost.train``, ``(name, value, True)`` for LightGBM,
    the value alone for ``XGBClassifier`` and for your own calls. See :func:`partial_auc_metric`.
    """

    def __init__(self, max_fpr: float = 1.0, min_tpr: float = 0.0, *, min_fpr: float = 0.0) -> None:
        self.region = Region(max_fpr, min_tpr, min_fpr)
        # XGBoost looks here, and maximises what begins with "auc": opauc_fpr0.05 becomes auc_fpr0.05.
        self.__name__ = self.region.name.removeprefix("op").removeprefix("tp")

    # XGBoost's classes pass two arguments, and `sample_weight` by name. LightGBM's count the arguments and pass all
    # four: nobody else passes a group, not even None.
    def __call__(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None, group: Any = _NOT_LIGHTGBM
    ) -> Any:
        """The partial AUC, in the form that the caller understands.

        Args:
            y_true: The labels, 0 or 1; the scores if the next argument is a data set.
            y_pred: The scores; or a ``DMatrix`` or ``lightgbm.Dataset`` with the labels.
            sample_weight: Not supported: anything but None is refused.
            group: Given by LightGBM only.

        Returns:
            The value, ``(name, value)`` or ``(name, value, True)``.
        """
        is_lightgbm = group is not _NOT_LIGHTGBM
        sample = read_call(y_true, y_pred, sample_weight, group if is_lightgbm else None)
        if sample.weights is not None:
            raise InputError(
                "`partial_auc_metric` counts every row once, got rows with weights: leave them out of the evaluation "
                "set (`sample_weight_eval_set`, `eval_sample_weight`); the objective takes those of the training set."
            )
        region = self.region
        value = float(
            binary_partial_auc(
                sample.scores, sample.is_positive, region.max_fpr, region.min_tpr, region.min_fpr
            )
        )
        if sample.caller == "lightgbm.train" or is_lightgbm:
            return self.__name__, value, True
        return (self.__name__, value) if sample.caller == "xgboost.train" else value

    def __repr__(self) -> str:
        """The settings, for printing."""
        return f"{type(self).__name__}({self.region.title})"


def partial_auc_metric(
    max_fpr: float = 1.0, min_tpr: float = 0.0, *, min_fpr: float = 0.0
) -> PartialAUCMetric:
    """Make a metric that shows the partial AUC after each round, and stops early by it: higher is better.

    It is for ``xgb.train(custom_metric=...)``, ``XGBClassifier(eval_metric=...)``, ``lgb.train(feval=...)`` and
    ``LGBMClassifier.fit(eval_metric=...)``, with any objective, and can be pickled. Its name, such as ``auc_fpr0.05``,
    tells XGBoost to maximise it. Rows with weights are refused.

    XGBoost gives a metric the predictions of its objective: with ``binary:logistic`` these are probabilities in
    float32, among which those above 0.9999999 are equal. ``binary:logitraw`` and the objectives of this package have
    no such ties.

    Args:
        max_fpr: Largest false-positive rate that counts.
        min_tpr: Smallest true-positive rate that counts; 0 is the one-way region.
        min_fpr: Smallest false-positive rate that counts, for a band of rates.

    Returns:
        The metric, a callable.

    Raises:
        InputError: If an argument is out of range. Called with wrong data, the metric raises it, too.

    Example:
        >>> metric = partial_auc_metric(max_fpr=0.5)
        >>> metric.__name__, metric([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1])
        ('auc_fpr0.5', 0.5)
    """
    return PartialAUCMetric(max_fpr, min_tpr, min_fpr=min_fpr)
