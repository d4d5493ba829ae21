"""What PAUCI and UPAUCI share: the instance-wise minimax objective of the partial AUC, its variables and boxes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from pauc_lightning.arguments import check_choice, check_number, check_prior
from pauc_lightning.errors import InputError
from pauc_lightning.objectives.checks import as_batch, check_labels, check_normalizer, check_scores
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
"""Where each variable lives. The main text's box for s is a slip; this is the appendix's."""


class _Objective(torch.autograd.Function):
    """The objective with its gradient in closed form.

    The same equations left to autograd take twice the time on batches of a few thousand, nearly all of it spent
    on bookkeeping: the graph has some thirty nodes for vectors this short.
    """

    @staticmethod
    def forward(
        ctx: Any,
        objective: MinimaxObjective,
        c: Tensor | None,
        y: Tensor,
        normalizer: Tensor | float,
        f: Tensor,
        a: Tensor,
        b: Tensor,
        gamma: Tensor,
        s_neg: Tensor,
        s_pos: Tensor | None,
        theta_b: Tensor | None,
        theta_a: Tensor | None,
    ) -> Tensor:
        alpha, beta, omega = objective.region.alpha, objective.region.beta, objective.omega
        w_pos, w_neg = objective._class_weights(y, normalizer)

        # Factors stand in `alpha=` and `value=` where possible: as operands they would become tensors first.
        from_a, from_b, one_plus_gamma = f - a, f - b, 1 + gamma
        push = one_plus_gamma * f
        P = torch.sub(from_a * from_a, push, alpha=2)
        N = torch.add(from_b * from_b, push, alpha=2)

        # Σ (βs' + r(N − s')) · (1−y)/(β(1−p)), with d_N the derivatives by the N of each instance
        r_neg, c_neg = objective._select(N - s_neg, c)
        d_N, sum_neg = w_neg * c_neg, w_neg.sum()
        value = w_neg.dot(r_neg).addcmul_(sum_neg, s_neg, value=beta)
        d_s_neg, d_s_pos = beta * sum_neg - d_N.sum(), None

        if s_pos is None:  # Σ P · y/p
            d_P = w_pos
            value += w_pos.dot(P)
        else:  # Σ (αs + r(P − s)) · y/(αp)
            r_pos, c_pos = objective._select(P - s_pos, c)
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
        gradients = ctx.saved_tensors
        scaled = iter(torch._foreach_mul([g for g in gradients if g is not None], grad))
        return None, None, None, None, *(None if g is None else next(scaled) for g in gradients)


class MinimaxObjective(nn.Module, ABC):
    """The instance-wise minimax form of the squared partial-AUC risk; subclasses say how instances are selected.

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

    The cost is linear in the batch, and nothing is exchanged between processes. Scores outside [0, 1], NaN and labels
    other than 0 and 1 are refused before anything is computed, for which the device is asked once (not within
    :func:`~pauc_lightning.objectives.checks.values_are_checked`); nothing else waits for it.
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
        max_fpr: float,
        min_tpr: float,
        prior: float | None,
        omega: float,
        constraint: Constraint,
        a: float,
        b: float,
        gamma: float,
        s_neg: float | None,
        s_pos: float | None,
    ) -> None:
        super().__init__()
        self.region = Region(max_fpr=max_fpr, min_tpr=min_tpr)
        check_prior(prior)
        check_number("omega", omega, at_least=0, hint="it is the strength of a penalty")
        check_choice("constraint", constraint, get_args(Constraint))
        check_number("a", a)
        check_number("b", b)
        check_number("gamma", gamma)
        if s_pos is not None and not self.region.is_two_way:
            raise InputError(
                f"`s_pos` belongs to the two-way objective, got {s_pos!r} with min_tpr=0: leave it out."
            )
        self.prior = prior
        self.omega = omega
        self.constraint = constraint

        # On [0, 1] the smallest N is b² and the smallest P is (1−a)² − 2(1+γ): thresholds there select every
        # instance. A threshold that starts above the losses selects none, and training need not recover.
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
        if constraint == "lagrangian":
            initial["theta_b"] = 0.0
            if self.region.is_two_way:
                initial["theta_a"] = 0.0
        for name in BOXES:
            parameter = nn.Parameter(torch.tensor(float(initial[name]))) if name in initial else None
            self.register_parameter(name, parameter)

    def forward(
        self,
        scores: Tensor,
        target: Tensor,
        index: Tensor | None = None,
        normalizer: Tensor | float | None = None,
    ) -> Tensor:
        """The objective of a batch, a scalar: descend on the network, a, b, s, s', θ and ascend on γ.

        A batch without positives, or without negatives, is legal: that part contributes zero.

        Args:
            scores: Sigmoid outputs in [0, 1], shape ``(B,)``. Half precision is widened to float32.
            target: 1 for positives, 0 for negatives, shape ``(B,)``.
            index: Position of each instance in the training set, shape ``(B,)``; only UPAUCI's stored weights
                need it.
            normalizer: What the sum over the instances is divided by; left out, B. On several processes give
                the mean of their batch sizes, and a fixed ``prior`` to the constructor: the average of the
                processes' gradients is then the gradient of the union batch, however uneven the shards.
        """
        f, y = self._checked(scores, target, index)
        check_normalizer(normalizer)
        value: Tensor = _Objective.apply(
            self,
            self._stored_weights(index),
            y,
            max(len(f), 1) if normalizer is None else normalizer,
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

    @torch.no_grad()
    def initialize_(self, scores: Tensor, target: Tensor, index: Tensor | None = None) -> None:
        """Set every variable to its optimum for fixed scores, such as those of the training set after a warm-up.

        a and b become the means of the selected positives and negatives, γ their difference over 1 + ω, s' and s
        the losses of the last selected instances, θ zero, and stored weights 1 on the selected instances and 0 on
        the others. Selection is by exact counts, at least one instance of each class. Not for the hot path: it
        sorts, and waits for the device.

        Args:
            scores: Sigmoid outputs in [0, 1], shape ``(n,)``, of all processes if there are several.
            target: 1 for positives, 0 for negatives, shape ``(n,)``.
            index: Position of each instance in the training set, shape ``(n,)``; for UPAUCI's stored weights.
        """
        f, y = self._checked(scores, target, index)
        is_pos = y > 0
        n_pos = int(is_pos.sum())
        n_neg = len(f) - n_pos
        if n_pos == 0 or n_neg == 0:
            raise InputError(
                f"`target` must hold both classes, got {n_pos} positives and {n_neg} negatives: initialise from "
                "the whole training set."
            )
        k_pos = max(1, select_count(n_pos, self.region.alpha))
        k_neg = max(1, select_count(n_neg, self.region.beta))
        hard_pos = f.masked_fill(~is_pos, torch.inf).topk(k_pos, largest=False)
        hard_neg = f.masked_fill(is_pos, -torch.inf).topk(k_neg)
        a, b = hard_pos.values.mean(), hard_neg.values.mean()
        gamma = (b - a) / (1 + self.omega)
        optimum = {"a": a, "b": b, "gamma": gamma}
        f_neg, f_pos = hard_neg.values[-1], hard_pos.values[-1]
        optimum["s_neg"] = (f_neg - b) ** 2 + 2 * (1 + gamma) * f_neg
        optimum["s_pos"] = (f_pos - a) ** 2 - 2 * (1 + gamma) * f_pos
        for name, parameter in self.named_parameters(recurse=False):
            parameter.copy_(optimum.get(name, torch.zeros_like(parameter)).clamp(*BOXES[name]))
        self.gamma.clamp_(min=self._gamma_box()[0])  # the bound may be rounded up, γ down
        selected = torch.zeros_like(is_pos)
        selected[hard_pos.indices] = True
        selected[hard_neg.indices] = True
        self._initialize_weights_(selected, is_pos, index)

    def param_groups(self, lr: float | None = None, lr_ascent: float | None = None) -> list[dict[str, Any]]:
        """The objective's groups for :class:`~pauc_lightning.optim.ASGDA`: descent variables, then γ, with boxes.

        The thresholds must be faster than γ. At fixed thresholds a larger γ selects more, so the selected part is
        convex in γ, with curvature up to 4D for a class whose losses have density D (over α or β) at the threshold;
        only because the threshold follows, with curvature D of its own, does γ see a concave function. With equal
        step sizes γ and the thresholds go round in circles even for fixed scores, above all in the two-way
        objective; a ratio of 16 was stable wherever we tried it.

        Args:
            lr: Step size of the descent variables; left out, the optimizer's `lr`.
            lr_ascent: Step size of γ; left out, the optimizer's `lr_ascent`.

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
        for group, step in zip(groups, (lr, lr_ascent), strict=True):
            if step is not None:
                group["lr"] = step
        return groups

    def variables(self) -> dict[str, Tensor]:
        """The scalar variables by name, detached, for logging."""
        return {name: parameter.detach() for name, parameter in self.named_parameters(recurse=False)}

    @torch.no_grad()
    def selection_weights(self, scores: Tensor, target: Tensor, index: Tensor | None = None) -> Tensor:
        """How much each instance of a batch counts at the moment, in [0, 1], shape ``(B,)``: c, or softplus' slope.

        In the one-way objective all positives count fully. The arguments are those of :meth:`forward`.
        """
        f, y = self._checked(scores, target, index)
        weights = self._select(self._excess(f, y), self._stored_weights(index))[1]
        return weights if self.region.is_two_way else torch.where(y > 0, torch.ones_like(f), weights)

    def extra_repr(self) -> str:
        """The region and the settings, for printing."""
        return (
            f"max_fpr={self.region.max_fpr:g}, min_tpr={self.region.min_tpr:g}, prior={self.prior}, "
            f"omega={self.omega:g}, constraint={self.constraint!r}"
        )

    # ------------------------------------------------------------------ for subclasses

    def _excess(self, f: Tensor, y: Tensor) -> Tensor:
        """P − s for positives (two-way), N − s' for negatives: what the selection looks at, shape ``(B,)``."""
        push = 2 * (1 + self.gamma) * f
        excess = (f - self.b) ** 2 + push - self.s_neg
        return (
            excess
            if self.s_pos is None
            else torch.where(y > 0, (f - self.a) ** 2 - push - self.s_pos, excess)
        )

    @abstractmethod
    def _select(self, excess: Tensor, c: Tensor | None) -> tuple[Tensor, Tensor]:
        """r(x) and its derivative r'(x) for x = loss − threshold, given the stored weights; shapes ``(B,)``."""

    def _stored_weights(self, index: Tensor | None) -> Tensor | None:
        """The weights c of the batch's instances, shape ``(B,)``, if there are stored ones to be used."""
        return None

    def _initialize_weights_(self, selected: Tensor, is_pos: Tensor, index: Tensor | None) -> None:
        """Store the selection of :meth:`initialize_`, where weights are stored."""

    def _checked(self, scores: Tensor, target: Tensor, index: Tensor | None) -> tuple[Tensor, Tensor]:
        """Scores (in float32 at least) and labels as numbers of the same type, fit to be used."""
        f, y = as_batch(scores, target, index)
        check_scores(f, in_unit_interval=True)
        check_labels(y)
        return f, y

    def _class_weights(self, y: Tensor, normalizer: Tensor | float) -> tuple[Tensor, Tensor]:
        """The paper's y/(αp) and (1−y)/(β(1−p)), each over the normalizer; one-way, α = 1."""
        alpha, beta = self.region.alpha, self.region.beta
        if self.prior is not None:
            p = self.prior
            return y * (1 / (alpha * p * normalizer)), (1 - y) * (1 / (beta * (1 - p) * normalizer))
        # p is the batch's own fraction; a class that is missing has no instance to weigh, whatever the divisor.
        n_pos, scale = y.sum(), len(y) / normalizer
        n_neg = len(y) - n_pos
        return y * (scale / (alpha * n_pos.clamp(min=1))), (1 - y) * (scale / (beta * n_neg.clamp(min=1)))

    def _gamma_box(self) -> tuple[Tensor, float]:
        """γ's range at the current a and b: [max(−a, b−1), 1], one-way [b−1, 1]."""
        low = self.b.detach() - 1
        if self.region.is_two_way:
            low = torch.maximum(low, -self.a.detach())
        return low, 1.0
