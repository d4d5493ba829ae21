"""The base class of PAUCI and UPAUCI: the minimax form of the partial AUC, its variables and their boxes."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from pauc_lightning.arguments import check_choice, check_number
from pauc_lightning.errors import InputError
from pauc_lightning.objectives.base import Objective, check_both_classes, scalar, with_step_sizes
from pauc_lightning.objectives.minimax_fused import FusedMinimax
from pauc_lightning.region import Region, select_count

Constraint = Literal["lagrangian", "projection"]

UNIT_BOX = (0.0, 1.0)
BOXES = {
    "a": UNIT_BOX,
    "b": UNIT_BOX,
    "gamma": (-1.0, 1.0),
    "s_neg": (0.0, 5.0),
    "s_pos": (-4.0, 1.0),
    "theta_a": (0.0, 1e9),
    "theta_b": (0.0, 1e9),
}
"""The range of each variable. The range of s is from the paper's appendix; the main text has a misprint."""


def P(f: Tensor, a: Tensor, gamma: Tensor) -> Tensor:
    """The loss of a positive, P = (f − a)² − 2(1 + γ)f."""
    return (f - a) ** 2 - 2 * (1 + gamma) * f


def N(f: Tensor, b: Tensor, gamma: Tensor) -> Tensor:
    """The loss of a negative, N = (f − b)² + 2(1 + γ)f."""
    return (f - b) ** 2 + 2 * (1 + gamma) * f


class MinimaxObjective(Objective):
    """The instance-wise minimax form of the squared partial-AUC risk; subclasses define the selection.

    For a batch of scores f and labels y, with p the fraction of positives:

        P = (f − a)² − 2(1 + γ)f,        N = (f − b)² + 2(1 + γ)f,
        one-way:  mean[ y/p · P ]                   + mean[ (1−y)/(1−p) · (s' + r(N − s')/β) ] − (1+ω)γ²
        two-way:  mean[ y/p · (s + r(P − s)/α) ]    + mean[ (1−y)/(1−p) · (s' + r(N − s')/β) ] − (1+ω)γ²

    to be minimised over the network, a, b, s, s' and maximised over γ ∈ [max(−a, b−1), 1] (one-way: [b−1, 1]).
    With r(x) = [x]₊ and ω = 0 the saddle value plus one is the mean of (1 − (f₊ − f₋))² over the selected pairs.

    ========== ============= ============================================================================
    the paper  here          meaning at the saddle point
    ========== ============= ============================================================================
    a, b       ``a, b``      mean score of the selected positives, of the selected negatives
    γ          ``gamma``     b − a (divided by 1 + ω)
    s'         ``s_neg``     threshold on N: the negatives above it are selected
    s          ``s_pos``     threshold on P: the positives above it are selected (two-way only)
    θ_b, θ_a   ``theta_*``   multipliers of γ ≥ b − 1 and (two-way only) of γ ≥ −a
    β, α       ``max_fpr``,  selected fractions: β is the largest false-positive rate, α = 1 − the smallest
               ``min_tpr``   true-positive rate
    ========== ============= ============================================================================

    :meth:`equations` is the formula above in plain torch. :meth:`loss` computes the same with a gradient derived by
    hand, see :mod:`~pauc_lightning.objectives.minimax_fused`. The cost is linear in the batch, and nothing is
    exchanged between processes. Apart from the checks of the batch, nothing waits for the device.
    """

    a: nn.Parameter
    b: nn.Parameter
    gamma: nn.Parameter
    s_neg: nn.Parameter
    s_pos: nn.Parameter | None
    theta_b: nn.Parameter | None
    theta_a: nn.Parameter | None

    def __init__(
        self,
        region: Region,
        *,
        prior: float | None,
        train_size: int | None = None,
        omega: float,
        constraint: Constraint,
        a: float,
        b: float,
        gamma: float,
        s_neg: float | None,
        s_pos: float | None,
    ) -> None:
        super().__init__(region, prior=prior, train_size=train_size)
        check_number("omega", omega, at_least=0, hint="it is the strength of a penalty")
        check_choice("constraint", constraint, get_args(Constraint))
        self.omega = omega
        self.constraint = constraint
        initial = self._initial_values(a, b, gamma, s_neg, s_pos)
        for name in BOXES:
            self.register_parameter(name, scalar(initial[name]) if name in initial else None)

    def _initial_values(
        self, a: float, b: float, gamma: float, s_neg: float | None, s_pos: float | None
    ) -> dict[str, float]:
        """The variables that this objective has, each checked to be in its box."""
        for name, number in (("a", a), ("b", b), ("gamma", gamma)):
            check_number(name, number)
        if s_pos is not None and not self.region.is_two_way:
            raise InputError(
                f"`s_pos` belongs to the two-way objective, got {s_pos!r} with min_tpr=0: leave it out."
            )
        # On [0, 1] the smallest N is b² and the smallest P is (1−a)² − 2(1+γ): thresholds there select every
        # instance. A threshold that starts above the losses selects none, and training may never recover.
        initial = {"a": a, "b": b, "gamma": gamma, "s_neg": b * b if s_neg is None else s_neg}
        if self.region.is_two_way:
            initial["s_pos"] = (1 - a) ** 2 - 2 * (1 + gamma) if s_pos is None else s_pos
        for name, value in initial.items():
            low, high = BOXES[name]
            check_number(name, value, at_least=low, at_most=high, hint="it must start in its box")
        lowest_gamma = max(-a, b - 1) if self.region.is_two_way else b - 1
        if gamma < lowest_gamma:
            raise InputError(
                f"`gamma` must start at or above {lowest_gamma:g} for a={a!r} and b={b!r}, got {gamma!r}: "
                "the paper's advice is 0."
            )
        if self.constraint == "lagrangian":
            initial["theta_b"] = 0.0
            if self.region.is_two_way:
                initial["theta_a"] = 0.0
        return initial

    def loss(self, f: Tensor, y: Tensor, index: Tensor | None, normalizer: Tensor | float) -> Tensor:
        """The objective of a batch: descend on the network, a, b, s, s', θ and ascend on γ."""
        value: Tensor = FusedMinimax.apply(
            self,
            self.stored_weights(index),
            *self.class_weights(y, normalizer),
            f,
            self.a,
            self.b,
            self.gamma,
            self.s_neg,
            self.s_pos,
            self.theta_b,
            self.theta_a,
        )
        return value

    def equations(self, f: Tensor, y: Tensor, index: Tensor | None, normalizer: Tensor | float) -> Tensor:
        """The objective as the paper writes it, differentiated by autograd: the same value as :meth:`loss`, slower."""
        alpha, beta, omega = self.region.alpha, self.region.beta, self.omega
        a, b, gamma, s, s_prime = self.a, self.b, self.gamma, self.s_pos, self.s_neg
        c = self.stored_weights(index)
        w_pos, w_neg = self.class_weights(y, normalizer)  # y/(αp) and (1−y)/(β(1−p)), over the batch size

        r_neg, _ = self.select(N(f, b, gamma) - s_prime, c)
        value = (w_neg * (beta * s_prime + r_neg)).sum()
        if s is None:
            value = value + (w_pos * P(f, a, gamma)).sum()
        else:
            r_pos, _ = self.select(P(f, a, gamma) - s, c)
            value = value + (w_pos * (alpha * s + r_pos)).sum()
        value = value - (1 + omega) * gamma**2
        if self.theta_b is not None:
            value = value - self.theta_b * (b - 1 - gamma)
        if self.theta_a is not None:
            value = value - self.theta_a * (-a - gamma)
        return value

    @abstractmethod
    def select(self, excess: Tensor, c: Tensor | None) -> tuple[Tensor, Tensor]:
        """r(x) and its derivative r'(x) for x = loss − threshold, given the stored weights; shapes ``(B,)``."""

    def stored_weights(self, index: Tensor | None) -> Tensor | None:
        """The weights c of the batch's instances, shape ``(B,)``, if there are stored ones to be used."""
        return None

    def class_weights(self, y: Tensor, normalizer: Tensor | float) -> tuple[Tensor, Tensor]:
        """The paper's y/(αp) and (1−y)/(β(1−p)), each over the normalizer; one-way, α = 1."""
        alpha, beta = self.region.alpha, self.region.beta
        if self.prior is not None:
            p = self.prior
            return y * (1 / (alpha * p * normalizer)), (1 - y) * (1 / (beta * (1 - p) * normalizer))
        # p is the batch's own fraction; a missing class has no instances, so its divisor does not matter.
        n_pos, scale = y.sum(), len(y) / normalizer
        n_neg = len(y) - n_pos
        return y * (scale / (alpha * n_pos.clamp(min=1))), (1 - y) * (scale / (beta * n_neg.clamp(min=1)))

    def excess(self, f: Tensor, y: Tensor) -> Tensor:
        """P − s for positives (two-way), N − s' for negatives: the selection's argument, shape ``(B,)``."""
        excess = N(f, self.b, self.gamma) - self.s_neg
        return (
            excess
            if self.s_pos is None
            else torch.where(y > 0, P(f, self.a, self.gamma) - self.s_pos, excess)
        )

    @torch.no_grad()
    def selection_weights(self, scores: Tensor, target: Tensor, index: Tensor | None = None) -> Tensor:
        """The current weight of each instance of a batch, in [0, 1], shape ``(B,)``: c, or the slope of the softplus.

        In the one-way objective all positives count fully. The arguments are those of :meth:`forward`.
        """
        f, y, index = self.checked(scores, target, index, uses_index=self.needs_index and self.training)
        weights = self.select(self.excess(f, y), self.stored_weights(index))[1]
        return weights if self.region.is_two_way else torch.where(y > 0, torch.ones_like(f), weights)

    @torch.no_grad()
    def initialize_(self, scores: Tensor, target: Tensor, index: Tensor | None = None) -> None:
        """Set every variable to its optimum for fixed scores, such as those of the training set after a warm-up.

        a and b become the means of the selected positives and negatives, γ their difference over 1 + ω, s' and s
        the losses of the last selected instances, θ zero, and stored weights 1 on the selected instances and 0 on
        the others. Selection is by exact counts, at least one instance of each class. It sorts and
        waits for the device, so do not call it in every step.

        Args:
            scores: Sigmoid outputs in [0, 1], shape ``(n,)``, of all processes if there are several.
            target: 1 for positives, 0 for negatives, shape ``(n,)``.
            index: Position of each instance in the training set, shape ``(n,)``; for UPAUCI's stored weights.
        """
        f, y, index = self.checked(scores, target, index, uses_index=self.needs_index)
        check_both_classes(y)
        is_pos = y > 0
        n_pos = int(is_pos.sum())
        k_pos = max(1, select_count(n_pos, self.region.alpha))
        k_neg = max(1, select_count(len(f) - n_pos, self.region.beta))
        hard_pos = f.masked_fill(~is_pos, torch.inf).topk(k_pos, largest=False)
        hard_neg = f.masked_fill(is_pos, -torch.inf).topk(k_neg)
        a, b = hard_pos.values.mean(), hard_neg.values.mean()
        gamma = (b - a) / (1 + self.omega)
        optimum = {"a": a, "b": b, "gamma": gamma}
        optimum["s_neg"] = N(hard_neg.values[-1], b, gamma)
        optimum["s_pos"] = P(hard_pos.values[-1], a, gamma)
        for name, parameter in self.named_parameters(recurse=False):
            parameter.copy_(optimum.get(name, torch.zeros_like(parameter)).clamp(*BOXES[name]))
        self.gamma.clamp_(min=self._gamma_box()[0])  # the bound may be rounded up, γ down
        selected = torch.zeros_like(is_pos)
        selected[hard_pos.indices] = True
        selected[hard_neg.indices] = True
        self.store_selection_(selected, is_pos, index)

    def store_selection_(self, selected: Tensor, is_pos: Tensor, index: Tensor | None) -> None:
        """Store the selection of :meth:`initialize_`, if there are stored weights."""

    def param_groups(self, lr: float | None = None, lr_ascent: float | None = None) -> list[dict[str, Any]]:
        """The groups for :class:`~pauc_lightning.optim.ASGDA`: the descent variables, then γ, each with its box.

        The thresholds must be faster than γ. At fixed thresholds a larger γ selects more, so the selected part is
        convex in γ, with curvature up to 4D for a class whose losses have density D (over α or β) at the threshold;
        γ sees a concave function only because the threshold follows, with curvature D of its own. With equal
        step sizes γ and the thresholds oscillate even for fixed scores, above all in the two-way objective; a ratio
        of 16 was stable in all our experiments.

        Args:
            lr: Step size of the descent variables; None uses the optimizer's `lr`.
            lr_ascent: Step size of γ; None uses the optimizer's `lr_ascent`.

        Example:
            >>> from pauc_lightning.objectives import PAUCILoss
            >>> from pauc_lightning.optim import ASGDA
            >>> network, loss_fn = torch.nn.Linear(5, 1), PAUCILoss(max_fpr=0.3)
            >>> opt = ASGDA([{"params": network.parameters()}, *loss_fn.param_groups()], weight_decay=1e-4)
            >>> [group["weight_decay"] for group in opt.param_groups]
            [0.0001, 0.0, 0.0]
        """
        descent = {name: p for name, p in self.named_parameters(recurse=False) if name != "gamma"}
        boxes = [BOXES[name] for name in descent]
        gamma_box = BOXES["gamma"] if self.constraint == "lagrangian" else self._gamma_box
        groups: list[dict[str, Any]] = [
            {"params": list(descent.values()), "box": boxes, "weight_decay": 0.0},
            {"params": [self.gamma], "box": gamma_box, "weight_decay": 0.0, "ascent": True},
        ]
        return with_step_sizes(groups, lr, lr_ascent)

    def _gamma_box(self) -> tuple[Tensor, float]:
        """γ's range at the current a and b: [max(−a, b−1), 1], one-way [b−1, 1]."""
        low = self.b.detach() - 1
        if self.region.is_two_way:
            low = torch.maximum(low, -self.a.detach())
        return low, 1.0

    def extra_repr(self) -> str:
        """The region and the settings, for printing."""
        return (
            f"max_fpr={self.region.max_fpr:g}, min_tpr={self.region.min_tpr:g}, prior={self.prior}, "
            f"omega={self.omega:g}, constraint={self.constraint!r}"
        )
