"""SOPA: the exact partial-AUC risk through thresholds that are learned per positive."""

from __future__ import annotations

import torch
from torch import Tensor

from pauc_lightning.arguments import check_number
from pauc_lightning.objectives.mb import partial_risk
from pauc_lightning.objectives.pairwise import (
    StatefulPairwiseObjective,
    Weigh,
    add_at_,
    weighted_row_means,
)
from pauc_lightning.objectives.surrogate import SurrogateName, get_surrogate
from pauc_lightning.region import Region


def weigh_above(thresholds: Tensor) -> Weigh:
    """Weights p_ij = 1[ℓ_ij > threshold_i], with the row statistic mean_j p_ij."""

    def weigh(losses: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        p = (losses > thresholds[rows, None]).to(losses.dtype)
        return p, p.mean(dim=1)

    return weigh


class SOPALoss(StatefulPairwiseObjective):
    """SOPA: the partial-AUC risk as a conditional value at risk, with a learned threshold per positive.

    OPAUC, with one threshold s_i per positive (initially 0) and p_ij = 1[ℓ_ij > s_i]:

        loss = mean_ij p_ij ℓ_ij / β,        s_i ← s_i − η (1 − mean_j p_ij / β).

    TPAUC adds a threshold s over the positives (initially 0) and a dual weight y_i ∈ [0, 1] per positive
    (initially 1), in the double block-coordinate form (STACO). With
    g_i = s_i + mean_j (ℓ_ij − s_i)₊ / β, in this order:

        y_i ← clip(y_i + η_y (g_i − s) / α, 0, 1),
        loss = mean_ij y_i p_ij ℓ_ij / (αβ),
        s_i ← s_i − η y_i (1 − mean_j p_ij / β) / α,        s ← s − η_s (1 − mean_i y_i / α).

    The steps are per visit: the 1/n₊ that the authors put into η is left out. An index that occurs k times in
    a batch makes k steps, all computed at the state before the batch and added up (y_i is clipped once, after
    the sum); s moves once per batch. In ``eval()`` mode the loss is the batch's exact partial risk.

    References: Zhu, Li, Wang, Wu and Yang, "When AUC meets DRO: Optimizing Partial AUC for Deep Learning with
    Non-Convex Convergence Guarantee", ICML 2022, https://arxiv.org/abs/2203.00176. STACO: Zhou, Wang, Thai and Yang,
    "Stochastic Primal-Dual Double Block-Coordinate for Two-way Partial AUC Maximization", 2025,
    https://arxiv.org/abs/2505.21944.

    Tuning: with ``threshold_lr`` 0.1 a threshold settles within some ten visits; raise it if a run visits each
    positive less often.

    Args:
        max_fpr: Largest false-positive rate that counts; the paper's beta.
        min_tpr: Smallest true-positive rate that counts; one minus the paper's alpha; 0 is the one-way loss.
        train_size: Number of training samples.
        threshold_lr: Step size η of the thresholds s_i of the negatives' losses.
        outer_threshold_lr: Step size η_s of the threshold s over the positives; two-way only.
        dual_lr: Step size η_y of the dual weights y_i; two-way only.
        surrogate: Loss of a pair with score gap s: ``squared`` is (1 − s)², ``logistic`` is log(1 + e^{−s}).
    """

    s: Tensor
    y: Tensor
    s_outer: Tensor

    def __init__(
        self,
        max_fpr: float,
        min_tpr: float = 0.0,
        *,
        train_size: int | None,
        threshold_lr: float = 0.1,
        outer_threshold_lr: float = 0.1,
        dual_lr: float = 0.1,
        surrogate: SurrogateName = "squared",
    ) -> None:
        super().__init__(Region(max_fpr, min_tpr), train_size)
        check_number("threshold_lr", threshold_lr, at_least=0)
        check_number("outer_threshold_lr", outer_threshold_lr, at_least=0)
        check_number("dual_lr", dual_lr, at_least=0)
        self.threshold_lr = threshold_lr
        self.outer_threshold_lr = outer_threshold_lr
        self.dual_lr = dual_lr
        self.surrogate = get_surrogate(surrogate)
        n = self.required_train_size()
        self.register_buffer("s", torch.zeros(n))
        if self.region.is_two_way:
            self.register_buffer("y", torch.ones(n))
            self.register_buffer("s_outer", torch.zeros(()))

    @property
    def per_instance_buffers(self) -> tuple[str, ...]:
        """The thresholds, and in a two-way region the dual weights."""
        return ("s", "y") if self.region.is_two_way else ("s",)

    def pair_loss(self, f_pos: Tensor, f_neg: Tensor, index: Tensor | None) -> Tensor:
        """The loss at the thresholds, which then move."""
        if index is None:
            return partial_risk(f_pos, f_neg, self.region, self.surrogate)
        alpha, beta = self.region.alpha, self.region.beta
        s = self.s[index].to(f_pos.dtype)
        risk, p_mean = weighted_row_means(f_pos, f_neg, self.surrogate, weigh_above(s))
        if self.region.is_two_way:
            g = s + (risk.detach() - s * p_mean) / beta
            y = self._ascend(g, index).to(f_pos.dtype)
            self.s_outer -= self.outer_threshold_lr * (1 - y.mean() / alpha)
        else:
            y = torch.ones_like(s)
        self._variables = {"threshold": s.mean(), "selected": (y * p_mean).mean()}
        if self.region.is_two_way:
            self._variables |= {"outer_threshold": self.s_outer.clone(), "dual_weight": y.mean()}
        s_step = -self.threshold_lr * y / alpha * (1 - p_mean / beta)
        add_at_(self.s, index, s_step)
        return (y * risk).mean() / (alpha * beta)

    def _ascend(self, g: Tensor, index: Tensor) -> Tensor:
        """Move the dual weights of the batch's positives and return them, shape [n₊]."""
        step = self.dual_lr * (g - self.s_outer) / self.region.alpha
        add_at_(self.y, index, step)
        y = self.y[index].clamp(0, 1)
        self.y[index] = y
        return y
