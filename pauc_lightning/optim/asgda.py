"""ASGDA: accelerated stochastic gradient descent ascent with momentum-based variance reduction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.optim import Optimizer

from pauc_lightning.arguments import check_flag, check_number
from pauc_lightning.errors import InputError

Bound: TypeAlias = "float | Tensor"
Box: TypeAlias = "tuple[Bound, Bound] | Callable[[], tuple[Bound, Bound]]"
"""Bounds of a parameter: a pair, or a function that returns the current pair."""

ASCENT_FACTOR = 1 / 16
"""Default ratio of the ascent groups' step size to the descent groups'."""
_BETA = 0.99
"""Memory of the adaptive groups' mean square."""
_EPSILON = 1e-8
"""Keeps the step of a parameter without gradients finite."""


class ASGDA(Optimizer):
    """Accelerated stochastic gradient descent ascent: descends on some parameter groups and ascends on others.

    With g(x) the gradient on the current mini-batch, for descent (−) and ascent (+) groups alike:

        η_t = min(1, k / (m + t)^⅓)
        x_{t+1} = (1 − η_t) x_t + η_t Π(x_t ∓ lr · v_t)
        v_{t+1} = g(x_{t+1}) + (1 − ρ)(v_t − g(x_t)),        ρ = min(1, ι η_t²)

    Π projects on the group's box. The two gradients belong to the same mini-batch, and v_t determines x_{t+1}
    before the batch is drawn, so one step evaluates the loss twice: at the old point and, after the move, at the new
    one. Where ρ = 1 the old point drops out of v_{t+1}, and the step evaluates at the new point only: the same
    numbers for half the work. As v_0 = 0, the first move is zero.

    Reference: Algorithm 1 of Jiang et al., "Closing the Approximation Gap of Partial AUC Optimization: A Tale of Two
    Formulations", 2025, https://arxiv.org/abs/2512.01213.

    Tuning: lr first. Large ι disables variance reduction (ρ = 1), as deep networks require; on smooth problems ι of
    order 1 with a large m gives the convergence rate of the paper. Keep the ascent slower than the descent.

    Besides the options of this constructor a group may set ``ascent`` (bool), ``iota``, ``adaptive`` (bool), and
    ``box``: a pair (low, high), a function that returns one, or a list of these (or None) with one entry per parameter.
    A box that is a function is evaluated before the move, for the projection, and again after it, so that a bound that
    depends on other parameters holds at the new point.

    An adaptive group divides v_t, entry by entry, by the root of its mean square over the past steps,

        x_{t+1} = (1 − η_t) x_t + η_t Π(x_t ∓ lr · v_t / (√h_t + 10⁻⁸)),        h_t ∝ Σ_{i ≤ t} 0.99^{t−i} v_i²,

    with the weights of h adding up to one: the step no longer depends on the scale of the gradient, and one lr fits
    inputs and networks of different width. Π stays the projection in the metric of the step, because a box is one
    condition per entry.

    Weight decay pulls towards zero in both directions: lr · weight_decay · x_t is subtracted from the argument of
    the projection. It is known exactly, so it is kept out of v, which would follow it only with a delay.

    Args:
        params: Parameters to descend on, or groups.
        lr: Step size of the descent groups; the paper's nu.
        lr_ascent: Step size of the ascent groups; the paper's lambda. None uses a sixteenth of `lr`, because the
            thresholds of the partial-AUC objectives must be faster than gamma.
        k: Numerator of eta.
        m: Offset of the step count in eta.
        iota_descent: Forgetting factor of the descent groups' estimators; the paper's iota_1.
        iota_ascent: Forgetting factor of the ascent groups' estimators; the paper's iota_2.
        weight_decay: Strength of the pull towards zero.
        warm_start: Start the estimators at the first gradient instead of zero.
        adaptive: Whether the groups that do not say otherwise are adaptive.

    Example:
        The saddle point of x² + xy − y² (min over x, max over y) is the origin:

        >>> x, y = torch.nn.Parameter(torch.tensor(1.0)), torch.nn.Parameter(torch.tensor(-1.0))
        >>> opt = ASGDA([{"params": [x]}, {"params": [y], "ascent": True, "box": (-1, 1)}], lr=0.2, lr_ascent=0.2)
        >>> def closure():
        ...     opt.zero_grad()
        ...     value = x**2 + x * y - y**2
        ...     value.backward()
        ...     return value
        >>> for _ in range(500):
        ...     value = opt.step(closure)
        >>> x.abs().item() < 1e-3, y.abs().item() < 1e-3
        (True, True)
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float = 0.5,
        lr_ascent: float | None = None,
        k: float = 2.0,
        m: float = 10.0,
        iota_descent: float = 50.0,
        iota_ascent: float = 50.0,
        weight_decay: float = 0.0,
        warm_start: bool = False,
        adaptive: bool = False,
    ) -> None:
        given = {
            "lr": lr,
            "iota_descent": iota_descent,
            "iota_ascent": iota_ascent,
            "weight_decay": weight_decay,
        }
        for name, value in {**given, **({} if lr_ascent is None else {"lr_ascent": lr_ascent})}.items():
            check_number(name, value, at_least=0)
        for name, value in (("k", k), ("m", m)):
            check_number(name, value, above=0)
        check_flag("warm_start", warm_start)
        check_flag("adaptive", adaptive)
        self._ascent_defaults = {
            "lr": lr * ASCENT_FACTOR if lr_ascent is None else lr_ascent,
            "iota": iota_ascent,
        }
        self._pending: list[list[Tensor] | None] | None = None
        self._departure: list[tuple[int, list[Tensor]]] | None = None
        defaults = {"lr": lr, "iota": iota_descent, "k": k, "m": m, "weight_decay": weight_decay}
        flags = {"warm_start": warm_start, "adaptive": adaptive, "ascent": False}
        super().__init__(params, {**defaults, **flags, "box": None, "t": 0})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, with the step size and forgetting factor of its direction unless it brings its own."""
        group = dict(param_group)
        if "params" not in group:
            raise InputError(
                f"A parameter group needs the key 'params', got the keys {sorted(group)}: add the parameters."
            )
        if not isinstance(group["params"], (Tensor, set)):
            group["params"] = list(group["params"])  # it may be a generator, and its length is needed
        for name in ("ascent", "adaptive"):
            check_flag(name, group.get(name, self.defaults[name]))
        if group.get("ascent", False):
            group = {**self._ascent_defaults, **group}
        for name in ("lr", "iota", "weight_decay", "k", "m"):
            value = group.get(name, self.defaults[name])
            if name in ("k", "m"):
                check_number(name, value, above=0)
            else:
                check_number(name, value, at_least=0)
        n_params = 1 if isinstance(group["params"], Tensor) else len(group["params"])
        group["box"] = _box_per_parameter(group.get("box", self.defaults["box"]), n_params)
        super().add_param_group(group)

    @property
    def evaluations_per_step(self) -> int:
        """How often the next step calls its closure: twice, or once if every estimator forgets its past."""
        needs_first = any(
            _rho(group) < 1 or (group["warm_start"] and group["t"] == 0) for group in self.param_groups
        )
        return 2 if needs_first else 1

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of Algorithm 1: evaluate, move, evaluate, refresh the estimators.

        Args:
            closure: Clears the gradients, computes the loss at the current point, calls ``backward`` and returns
                the loss. It is called :attr:`evaluations_per_step` times and must see the same mini-batch,
                augmentation and dropout noise each time. Without it the step completes a :meth:`move`: the second
                half, for drivers (such as a gradient scaler) that evaluate by themselves.

        Returns:
            The closure's first result, or None without a closure.
        """
        if closure is None:
            self.refresh()
            return None
        losses = []
        if self.evaluations_per_step == 2:
            with torch.enable_grad():
                losses.append(closure())
        self.move()
        try:
            with torch.enable_grad():
                losses.append(closure())
        except BaseException:  # not even an interruption may leave the optimizer halfway through a step
            self.undo_move()
            raise
        self.refresh()
        return losses[0]

    @torch.no_grad()
    def move(self) -> None:
        """First half of a step: with the gradients at the current point in ``.grad``, go to the next point.

        The move uses the estimators only. The gradients are kept for :meth:`refresh`; where ρ = 1 it does not need
        them, and they are not read.

        A gradient scaler may find the gradients at the new point too large and not call :meth:`step`. The next call
        then does not move again (ρ = 1), or moves on along the same estimators (ρ < 1).
        """
        if self._pending is not None and all(kept is None for kept in self._pending):
            return
        bounds = [[box() if callable(box) else box for box in group["box"]] for group in self.param_groups]
        pending: list[list[Tensor] | None] = []
        self._departure = [(group["t"], [x.clone() for x in group["params"]]) for group in self.param_groups]
        for group, group_bounds in zip(self.param_groups, bounds, strict=True):
            x, v, rho = group["params"], self._estimators(group), _rho(group)
            direction = self._scaled(group, v) if group["adaptive"] else v
            goal = torch._foreach_mul(direction, group["lr"] if group["ascent"] else -group["lr"])
            torch._foreach_add_(goal, x, alpha=1 - group["lr"] * group["weight_decay"])
            for point, bound in zip(goal, group_bounds, strict=True):
                _project_(point, bound)
            torch._foreach_lerp_(x, goal, _eta(group))
            group["t"] += 1
            kept = None
            if rho < 1:
                kept = list(torch._foreach_sub(v, _gradients(group)))
                torch._foreach_mul_(kept, 1 - rho)
            pending.append(kept)
        for group in self.param_groups:
            for point, box in zip(group["params"], group["box"], strict=True):
                if callable(box):  # its bounds may have moved with other parameters
                    _project_(point, box())
        self._pending = pending

    @torch.no_grad()
    def refresh(self) -> None:
        """Second half of a step: with the gradients at the new point in ``.grad``, renew the estimators."""
        if self._pending is None:
            raise InputError(
                "`ASGDA.step()` without a closure only completes a step that `move()` has begun: call "
                "`step(closure)`, whose closure evaluates the loss twice."
            )
        for group, kept in zip(self.param_groups, self._pending, strict=True):
            estimators, gradients = [self.state[x]["v"] for x in group["params"]], _gradients(group)
            torch._foreach_copy_(estimators, gradients)
            if kept is not None:
                torch._foreach_add_(estimators, kept)
            if group["adaptive"]:
                squares = self._mean_squares(group)
                torch._foreach_lerp_(squares, torch._foreach_mul(estimators, estimators), 1 - _BETA)
        self._pending = self._departure = None

    @torch.no_grad()
    def undo_move(self) -> None:
        """Undo :meth:`move` exactly, if its step has not been completed.

        Call it when the evaluation at the new point fails, for example because the loss is not finite: parameters and
        estimators are then as they were before the step.
        """
        if self._departure is None:
            return
        for group, (t, points) in zip(self.param_groups, self._departure, strict=True):
            torch._foreach_copy_(group["params"], points)
            group["t"] = t
        self._pending = self._departure = None

    def state_dict(self) -> dict[str, Any]:
        """Step counts, options and estimators. Boxes are left out: they belong to the code, not to the run."""
        state = super().state_dict()
        for group in state["param_groups"]:
            del group["box"]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue where ``state_dict`` was taken; this optimizer's boxes stay."""
        boxes = [group["box"] for group in self.param_groups]
        super().load_state_dict(state_dict)
        for group, box in zip(self.param_groups, boxes, strict=True):
            group["box"] = box

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_ascent_defaults": self._ascent_defaults}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._pending = self._departure = None

    def _estimators(self, group: dict[str, Any]) -> list[Tensor]:
        """The estimator v of every parameter of the group, made on first use."""
        for x in group["params"]:
            if "v" not in self.state[x]:
                v = torch.zeros_like(x, memory_format=torch.preserve_format)
                if group["warm_start"] and x.grad is not None:
                    v.copy_(x.grad)
                self.state[x]["v"] = v
        return [self.state[x]["v"] for x in group["params"]]

    def _mean_squares(self, group: dict[str, Any]) -> list[Tensor]:
        """The sum (1 − β) Σ β^{t−i} v_i² of every parameter of the group, made on first use."""
        for x in group["params"]:
            if "h" not in self.state[x]:
                self.state[x]["h"] = torch.zeros_like(x, memory_format=torch.preserve_format)
        return [self.state[x]["h"] for x in group["params"]]

    def _scaled(self, group: dict[str, Any], v: list[Tensor]) -> list[Tensor]:
        """The estimators divided by the root of their mean square; a first one, from a warm start, by its size."""
        if group["t"] == 0:
            return [estimator.sign() for estimator in v]
        roots = torch._foreach_div(self._mean_squares(group), 1 - _BETA ** group["t"])
        torch._foreach_sqrt_(roots)
        torch._foreach_add_(roots, _EPSILON)
        return list(torch._foreach_div(v, roots))


def _eta(group: dict[str, Any]) -> float:
    """Mixing weight η_t of the group's next move."""
    return float(min(1.0, group["k"] / (group["m"] + group["t"]) ** (1 / 3)))


def _rho(group: dict[str, Any]) -> float:
    """Share of the past, ρ, that the group's estimator forgets in its next step."""
    return float(min(1.0, group["iota"] * _eta(group) ** 2))


def _gradients(group: dict[str, Any]) -> list[Tensor]:
    """The gradient of every parameter of the group; zero where the loss did not reach it."""
    gradients = [torch.zeros_like(x) if x.grad is None else x.grad for x in group["params"]]
    if any(g.is_sparse for g in gradients):
        raise InputError(
            "ASGDA needs dense gradients, got a sparse one: build the embedding with sparse=False."
        )
    return gradients


def _project_(point: Tensor, bounds: tuple[Bound, Bound] | None) -> None:
    if bounds is not None:
        low, high = bounds
        point.clamp_(min=low).clamp_(max=high)


def _box_per_parameter(box: Any, n_params: int) -> list[Box | None]:
    boxes = box if isinstance(box, list) else [box] * n_params
    if len(boxes) != n_params:
        raise InputError(
            f"`box` is a list of {len(boxes)} for {n_params} parameters: give one entry for each."
        )
    for entry in boxes:
        is_pair = isinstance(entry, tuple) and len(entry) == 2
        if not (entry is None or callable(entry) or is_pair):
            raise InputError(
                f"`box` must be a pair (low, high), a function that returns one, None, or a list of these with one "
                f"entry per parameter, got {entry!r}."
            )
        for bound in entry if is_pair else ():
            is_nan = isinstance(bound, float) and math.isnan(bound)  # tensors are not checked
            if is_nan or not isinstance(bound, (int, float, Tensor)):
                raise InputError(f"`box` must have numbers or tensors as bounds, got {entry!r}.")
        if is_pair and all(isinstance(bound, (int, float)) for bound in entry) and entry[0] > entry[1]:
            raise InputError(f"`box` must be (low, high) with low <= high, got {entry!r}.")
    return list(boxes)
