"""The gradient and the Hessian of the partial-AUC risk, as XGBoost and LightGBM ask for them."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
from scipy.special import expit

from pauc_lightning.arguments import check_choice, check_number
from pauc_lightning.region import Region
from pauc_lightning.trees.calls import Sample, read_call
from pauc_lightning.trees.pair_derivatives import TreeSurrogate, pair_derivatives
from pauc_lightning.trees.shares import Floats, negative_shares, positive_shares

HESSIAN_FLOOR = 1e-6
"""Smallest Hessian of a row: outside the region it would be 0, and a Newton step divides by it."""
CE_WEIGHT = 0.5
"""The share of log-loss, unless told otherwise."""


class PartialAUCObjective:
    r"""The risk of a region's pairs, differentiated at the present predictions: what one round of boosting needs.

    For margins z it is the risk of :class:`~pauc_lightning.objectives.PartialAUCLoss`, the mean of ℓ(z⁺ − z⁻) over the
    pairs inside the region, times the weight of the positives inside:

    .. math:: \sum_i u_i \sum_j v_j\,\ell(z_i - z_j), \qquad
              u_i = w_i s_i, \quad v_j = w_j s_j \Big/ \sum_{j'} w_{j'} s_{j'}

    w are the rows' weights, and s in [0, 1] are the shares of the rows that the region holds: 1 for the negatives above
    the threshold that a fraction ``max_fpr`` of them exceeds, 0 below it, and the rest in equal parts for those at it.
    Boosting sees all rows in each round, so the threshold is exact. At it the risk is smallest (Rockafellar and Uryasev
    2000), so it need not be differentiated. The Hessian is the exact diagonal, :math:`u_i \sum_j v_j \ell''` for a
    positive and :math:`v_j \sum_i u_i \ell''` for a negative.

    With ``ce_weight`` c the objective is (1 − c) times this sum plus c times the sum of the rows' log-losses.

    So scaled, a positive has a gradient between −1 and 0, as with log-loss, for ``surrogate="logistic"``: the
    libraries' settings that are compared with sums of Hessians (``min_child_weight``, ``lambda``) keep their meaning.

    References: Chen and Guestrin, "XGBoost", KDD 2016, https://arxiv.org/abs/1603.02754, for boosting by Newton steps;
    Burges, "From RankNet to LambdaRank to LambdaMART", MSR-TR-2010-82, for the gradients of pairs.

    Tuning: see :func:`partial_auc_objective`.
    """

    def __init__(
        self,
        max_fpr: float,
        min_tpr: float = 0.0,
        *,
        min_fpr: float = 0.0,
        surrogate: TreeSurrogate = "logistic",
        ce_weight: float = CE_WEIGHT,
    ) -> None:
        self.region = Region(max_fpr, min_tpr, min_fpr)
        check_choice("surrogate", surrogate, get_args(TreeSurrogate))
        hint = "0 is the partial AUC alone, 0.5 weighs both alike; for log-loss alone use the library's own"
        check_number("ce_weight", ce_weight, at_least=0, below=1, hint=hint)
        self.surrogate: TreeSurrogate = surrogate
        self.ce_weight = float(ce_weight)

    # The name and the number of the arguments matter: XGBoost passes `sample_weight` by name, and LightGBM counts them.
    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tuple[Floats, Floats]:
        """The gradient and the Hessian of each row.

        Args:
            y_true: The labels, 0 or 1; the margins if the next argument is a data set.
            y_pred: The margins; or a ``DMatrix`` or ``lightgbm.Dataset`` with the labels.
            sample_weight: The rows' weights; None takes those of the data set, if it has any.

        Returns:
            Two arrays of shape ``(n,)``.
        """
        sample = read_call(y_true, y_pred, sample_weight)
        weights = np.ones(len(sample.scores)) if sample.weights is None else sample.weights
        gradient, hessian = self._of_pairs(sample, weights)
        if self.ce_weight > 0:
            p = expit(sample.scores)
            gradient = _mix(gradient, weights * (p - sample.is_positive), self.ce_weight)
            hessian = _mix(hessian, weights * p * (1 - p), self.ce_weight)
        return gradient, np.maximum(hessian, HESSIAN_FLOOR)

    def _of_pairs(self, sample: Sample, weights: Floats) -> tuple[Floats, Floats]:
        """The derivatives of the pairs' part."""
        pos, neg = np.flatnonzero(sample.is_positive), np.flatnonzero(~sample.is_positive)
        u = weights[pos] * positive_shares(sample.scores[pos], weights[pos], self.region)
        v = weights[neg] * negative_shares(sample.scores[neg], weights[neg], self.region)
        pos, u, neg, v = pos[u > 0], u[u > 0], neg[v > 0], v[v > 0]
        derivatives = pair_derivatives(sample.scores[pos], sample.scores[neg], u, v / v.sum(), self.surrogate)
        gradient, hessian = np.zeros_like(weights), np.zeros_like(weights)
        gradient[pos], gradient[neg] = derivatives.pos_gradient, derivatives.neg_gradient
        hessian[pos], hessian[neg] = derivatives.pos_hessian, derivatives.neg_hessian
        return gradient, hessian

    def __repr__(self) -> str:
        """The settings, for printing."""
        return f"{type(self).__name__}({self.region.title}, surrogate={self.surrogate!r}, ce_weight={self.ce_weight:g})"


def partial_auc_objective(
    max_fpr: float,
    min_tpr: float = 0.0,
    *,
    min_fpr: float = 0.0,
    surrogate: TreeSurrogate = "logistic",
    ce_weight: float = CE_WEIGHT,
) -> PartialAUCObjective:
    """Make an objective that trains XGBoost or LightGBM for a region of the ROC curve.

    It is for ``xgb.train(obj=...)``, ``XGBClassifier(objective=...)``, ``lgb.train({"objective": ...})`` and
    ``LGBMClassifier(objective=...)``, and can be pickled. The model predicts margins, which rank but are no
    probabilities: calibrate them if you need some. Weights of rows are honoured: a pair counts with the product of its
    two weights, and the rates of the region are shares of weight.

    Tuning: a narrow region leaves few negatives to learn from, and those outside do not resist when a leaf that they
    share with a positive is raised. So half of the objective is log-loss, in which all rows take part. With less of it
    take small steps, or train for a region several times as wide as the one that matters.

    Args:
        max_fpr: Largest false-positive rate that counts.
        min_tpr: Smallest true-positive rate that counts; 0 is the one-way region.
        min_fpr: Smallest false-positive rate that counts, for a band of rates.
        surrogate: Loss of a pair: ``logistic``, which takes time in proportion to the pairs inside the region; or
            ``squared_hinge``, n log n.
        ce_weight: The share of log-loss in the objective, in [0, 1); 0 is the partial AUC alone.

    Returns:
        The objective, a callable.

    Raises:
        InputError: If an argument is out of range. Called with wrong data, the objective raises it, too.

    Example:
        >>> objective = partial_auc_objective(max_fpr=0.5, ce_weight=0)
        >>> gradient, hessian = objective([1, 0, 0], [0.0, 0.0, -9.0])  # the last one is outside the region
        >>> gradient, hessian
        (array([-0.5,  0.5,  0. ]), array([2.5e-01, 2.5e-01, 1.0e-06]))
    """
    return PartialAUCObjective(max_fpr, min_tpr, min_fpr=min_fpr, surrogate=surrogate, ce_weight=ce_weight)


def _mix(pairs: Floats, log_loss: Floats, share: float) -> Floats:
    return (1 - share) * pairs + share * log_loss
