"""The minimax objective's value and gradient in one pass, derived by hand.

With autograd, ``MinimaxObjective.equations`` takes twice the time on batches of a few thousand: for vectors this short,
the bookkeeping of some thirty graph nodes dominates. The tests compare the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

if TYPE_CHECKING:
    from pauc_lightning.objectives.minimax import MinimaxObjective


class FusedMinimax(torch.autograd.Function):
    """``MinimaxObjective.equations``, whose gradient is computed with the value and only scaled in the backward pass.

    Factors are passed as ``alpha=`` and ``value=`` where possible; operands would first become tensors.
    """

    @staticmethod
    def forward(
        ctx: Any,
        objective: MinimaxObjective,
        c: Tensor | None,
        w_pos: Tensor,
        w_neg: Tensor,
        f: Tensor,
        a: Tensor,
        b: Tensor,
        gamma: Tensor,
        s_neg: Tensor,
        s_pos: Tensor | None,
        theta_b: Tensor | None,
        theta_a: Tensor | None,
    ) -> Tensor:
        """The value; the gradient is kept for :meth:`backward`."""
        alpha, beta, omega = objective.region.alpha, objective.region.beta, objective.omega
        from_a, from_b, one_plus_gamma = f - a, f - b, 1 + gamma
        push = one_plus_gamma * f
        P = torch.sub(from_a * from_a, push, alpha=2)
        N = torch.add(from_b * from_b, push, alpha=2)

        # Σ (βs' + r(N − s')) · (1−y)/(β(1−p)), with d_N the derivatives by the N of each instance
        r_neg, c_neg = objective.select(N - s_neg, c)
        d_N, sum_neg = w_neg * c_neg, w_neg.sum()
        value = w_neg.dot(r_neg).addcmul_(sum_neg, s_neg, value=beta)
        d_s_neg, d_s_pos = beta * sum_neg - d_N.sum(), None

        if s_pos is None:  # Σ P · y/p
            d_P = w_pos
            value += w_pos.dot(P)
        else:  # Σ (αs + r(P − s)) · y/(αp)
            r_pos, c_pos = objective.select(P - s_pos, c)
            d_P, sum_pos = w_pos * c_pos, w_pos.sum()
            value += w_pos.dot(r_pos).addcmul_(sum_pos, s_pos, value=alpha)
            d_s_pos = alpha * sum_pos - d_P.sum()

        d_push = d_N - d_P
        d_f = (one_plus_gamma * d_push).addcmul_(d_P, from_a).addcmul_(d_N, from_b).mul_(2)
        d_a, d_b = -2 * d_P.dot(from_a), -2 * d_N.dot(from_b)
        value.addcmul_(gamma, gamma, value=-(1 + omega))  # −(1+ω)γ²
        d_gamma = torch.sub(d_push.dot(f), gamma, alpha=1 + omega).mul_(2)

        d_theta_b = d_theta_a = None
        if theta_b is not None:  # −θ_b(b − 1 − γ)
            d_theta_b = one_plus_gamma - b
            value.addcmul_(theta_b, d_theta_b)
            d_b -= theta_b
            d_gamma += theta_b
        if theta_a is not None:  # −θ_a(−a − γ)
            d_theta_a = a + gamma
            value.addcmul_(theta_a, d_theta_a)
            d_a += theta_a
            d_gamma += theta_a
        ctx.save_for_backward(d_f, d_a, d_b, d_gamma, d_s_neg, d_s_pos, d_theta_b, d_theta_a)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The kept gradient times the incoming one."""
        gradients = ctx.saved_tensors
        scaled = iter(torch._foreach_mul([g for g in gradients if g is not None], grad))
        return None, None, None, None, *(None if g is None else next(scaled) for g in gradients)
