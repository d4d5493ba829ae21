"""SOPA-S and SOTA-s: soft selection of the hard pairs, with moving averages per positive."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from pauc_lightning.arguments import check_number
from pauc_lightning.objectives.pairwise import StatefulPairwiseObjective, add_at_, weighted_row_means
from pauc_lightning.objectives.surrogate import SurrogateName, get_surrogate
from pauc_lightning.region import Region


def log_moving_average(log_old: Tensor, log_new: Tensor, rate: float, visits: Tensor) -> Tensor:
    """The logarithm of u after ``visits`` steps u ← (1 − rate) u + rate·new; u = 0 (−inf) starts at new.

    k steps towards the same value are one step with 1 − (1 − rate)^k in the place of the rate.

    Example:
        >>> old, new = torch.tensor([2.0, 2.0, 0.0]).log(), torch.tensor([4.0, 4.0, 4.0]).log()
        >>> log_moving_average(old, new, rate=0.5, visits=torch.tensor([1.0, 2.0, 1.0])).exp()
        tensor([3.0000, 3.5000, 4.0000])
    """
    log_keep = visits * (math.log1p(-rate) if rate < 1 else -math.inf)
    log_take = torch.log(-torch.expm1(log_keep))
    return torch.where(log_old == -math.inf, log_new, torch.logaddexp(log_keep + log_old, log_take + log_new))


class SOPASLoss(StatefulPairwiseObjective):
    """SOPA-S (OPAUC) and SOTA-s (TPAUC): hard pairs selected softly, by a Kullback-Leibler penalty.

    OPAUC, with one moving average u_i per positive:

        u_i ← (1 − β₀) u_i + β₀ mean_j exp(ℓ_ij/λ),      loss = mean_ij p_ij ℓ_ij,  p_ij = exp(ℓ_ij/λ) / u_i.

    TPAUC, with one more moving average w:

        w ← (1 − β₁) w + β₁ mean_i u_i^{λ/τ},            p_ij = u_i^{λ/τ − 1} exp(ℓ_ij/λ) / w.

    The weights p are constants for the gradient and are computed after the update. λ replaces β and
    τ replaces α; the region only decides between one-way and two-way.

    The state is log u_i and log w, so nothing overflows, and −inf means never visited: the first visit sets
    u_i (and w) to the batch's value. An index that occurs k times in a batch makes k steps towards the mean of
    exp(ℓ/λ) over all its pairs in the batch, i.e. one step with rate 1 − (1 − β₀)^k; this does not depend on
    the order. w makes one step per batch. In ``eval()`` mode u_i and w come from the batch alone.

    Reference: Zhu, Li, Wang, Wu and Yang, "When AUC meets DRO: Optimizing Partial AUC for Deep Learning with
    Non-Convex Convergence Guarantee", ICML 2022, https://arxiv.org/abs/2203.00176.

    Tuning: a small temperature selects only the hardest pairs; the paper tries λ of 0.1, 1 and 10.

    Args:
        max_fpr: Largest false-positive rate that counts; the loss uses ``lambda_`` instead.
        min_tpr: Smallest true-positive rate that counts; above 0 the positives are weighted as well (SOTA-s).
        train_size: Number of training samples.
        lambda_: Temperature λ over the negatives.
        tau: Temperature τ over the positives; two-way only.
        u_rate: Rate β₀ of the moving averages u_i, in (0, 1].
        w_rate: Rate β₁ of the moving average w, in (0, 1]; two-way only.
        surrogate: Loss of a pair with score gap s: ``squared`` is (1 − s)², ``logistic`` is log(1 + e^{−s}).
    """

    log_u: Tensor
    log_w: Tensor

    def __init__(
        self,
        max_fpr: float = 1.0,
        min_tpr: float = 0.0,
        *,
        train_size: int | None,
        lambda_: float = 1.0,
        tau: float = 1.0,
        u_rate: float = 0.9,
        w_rate: float = 0.9,
        surrogate: SurrogateName = "squared",
    ) -> None:
        super().__init__(Region(max_fpr, min_tpr), train_size)
        for name, temperature in (("lambda_", lambda_), ("tau", tau)):
            check_number(name, temperature, above=0, hint="it is a temperature; try 1.0")
        for name, rate in (("u_rate", u_rate), ("w_rate", w_rate)):
            check_number(name, rate, above=0, at_most=1, hint="it is a rate; the paper uses 0.9")
        self.lambda_ = lambda_
        self.tau = tau
        self.u_rate = u_rate
        self.w_rate = w_rate
        self.surrogate = get_surrogate(surrogate)
        self.register_buffer("log_u", torch.full((self.required_train_size(),), -math.inf))
        if self.region.is_two_way:
            self.register_buffer("log_w", torch.tensor(-math.inf))

    @property
    def per_instance_buffers(self) -> tuple[str, ...]:
        """The moving averages."""
        return ("log_u",)

    def pair_loss(self, f_pos: Tensor, f_neg: Tensor, index: Tensor | None) -> Tensor:
        """The loss at the moving averages, updated with this batch."""
        # Softmax weights n₋·exp(ℓ_ij/λ)/Σ_j exp(ℓ_ij/λ) are bounded; exp(log_mean_i − log u_i) ≤ 1/β₀ then
        # turns them into exp(ℓ_ij/λ)/u_i without an intermediate overflow.
        risk, log_mean = weighted_row_means(f_pos, f_neg, self.surrogate, self._weigh_softly)
        log_u = log_mean if index is None else self._visit(log_mean, index)
        log_weight = log_mean - log_u
        variables = {"log_u": log_u.mean()}
        if self.region.is_two_way:
            log_power = self.lambda_ / self.tau * log_u
            variables["log_w"] = self._log_w(log_power, update=index is not None)
            log_weight = log_weight + log_power - variables["log_w"]
        if index is not None:
            self._variables = variables
        return (log_weight.exp() * risk).mean()

    def _weigh_softly(self, losses: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        """Softmax over the row, scaled to mean 1, and log mean_j exp(ℓ_ij/λ)."""
        logits = losses / self.lambda_
        log_mean = logits.logsumexp(dim=1) - math.log(losses.shape[1])
        return torch.exp(logits - log_mean[:, None]), log_mean

    def _visit(self, log_mean: Tensor, index: Tensor) -> Tensor:
        """Update log u with the rows' log mean_j exp(ℓ_ij/λ) and return it for the rows, shape [n₊]."""
        unique, group, visits = torch.unique(index, return_inverse=True, return_counts=True)
        top = torch.full_like(log_mean[: len(unique)], -math.inf).scatter_reduce_(0, group, log_mean, "amax")
        total = torch.zeros_like(top)
        add_at_(total, group, torch.exp(log_mean - top[group]))
        log_new = top + torch.log(total / visits)
        log_u = log_moving_average(
            self.log_u[unique].to(log_new.dtype), log_new, self.u_rate, visits.to(log_new.dtype)
        )
        self.log_u[unique] = log_u.to(self.log_u.dtype)
        return log_u[group]

    def _log_w(self, log_power: Tensor, update: bool) -> Tensor:
        """Log w, updated with log mean_i u_i^{λ/τ} if ``update``."""
        log_new = log_power.logsumexp(dim=0) - math.log(len(log_power))
        if not update:
            return log_new
        log_w = log_moving_average(
            self.log_w.to(log_new.dtype), log_new, self.w_rate, torch.ones_like(log_new)
        )
        self.log_w.copy_(log_w)
        return log_w
