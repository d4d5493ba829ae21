"""AGD-SBCD: approximated gradient descent on a Moreau envelope, with an inner loop over batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

import torch
from torch import Tensor

from pauc_lightning.arguments import check_number
from pauc_lightning.errors import InputError
from pauc_lightning.objectives.inner_loops import InnerLoops


class AGDSBCDOptimizer(torch.optim.Optimizer):
    """AGD-SBCD's optimizer: approximated gradient descent on a Moreau envelope, one inner iteration per ``step()``.

    The parameters hold v. Loop k starts at v = w and makes T_k proximal steps along the batch gradients G,

        v ← (η' w + μ' v − η' μ' G) / (η' + μ'),        η' = c / (k + 1),

    which solve min_v G·v + |v − w|²/(2μ') + |v − v_old|²/(2η'). When the loop ends, with v̄ the mean of its
    T_k new iterates, (w − v̄)/μ' approximates the envelope's gradient and the outer step is

        w ← w − (γ'/μ') (w − v̄),        v ← w.

    This is the algorithm for regions that start at false-positive rate 0, where the paper's second inner loop
    returns w itself. μ' and γ' are the paper's with its sums replaced by means over pairs.

    Reference: Yao, Lin and Yang, "Large-scale Optimization of Partial AUC in a Range of False Positive Rates",
    NeurIPS 2022, https://arxiv.org/abs/2203.01505.

    Tuning: lr first. The published T_k grow fast: with 10 batches per epoch, the first outer step comes after 5 epochs
    and the third after 70.

    Args:
        params: Parameters or groups, as for every torch optimizer.
        loops: The position that the loss reads and this optimizer advances: the loss's attribute ``loops``.
        lr: c of the inner step size c/(k + 1); the authors tune it in [1e-5, 1].
        mu: μ', the smoothing of the envelope; large values let the inner loop move far from w.
        gamma: γ', the outer step size; the authors tune it in {100, 1000, 2000}. γ' = μ' sets w to v̄.
        weight_decay: L2 penalty, added to G.
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        loops: InnerLoops,
        lr: float = 0.1,
        mu: float = 1e3,
        gamma: float = 1e3,
        weight_decay: float = 0.0,
    ) -> None:
        for name, value in (("lr", lr), ("mu", mu), ("gamma", gamma)):
            check_number(name, value, above=0)
        check_number("weight_decay", weight_decay, at_least=0, hint="0 switches it off")
        if not isinstance(loops, InnerLoops):
            raise InputError(
                f"`loops` must be the InnerLoops that the loss reads, got {loops!r}: pass the loss's attribute `loops`."
            )
        super().__init__(params, {"lr": lr, "mu": mu, "gamma": gamma, "weight_decay": weight_decay})
        self.loops = loops

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], float]) -> float: ...

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """One inner iteration; also the outer step if it is the loop's last."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            eta, mu = group["lr"] / (self.loops.k + 1), group["mu"]
            for v in group["params"]:
                state = self.state[v]
                if not state:
                    state["w"], state["v_mean"] = v.clone(), torch.zeros_like(v)
                w, v_mean = state["w"], state["v_mean"]
                gradient = v.grad if v.grad is not None else torch.zeros_like(v)
                gradient = gradient + group["weight_decay"] * v
                # The same as the formula above, written as increments so that a large μ' loses no digits.
                v.add_(w - v, alpha=eta / (eta + mu)).sub_(gradient, alpha=eta * mu / (eta + mu))
                v_mean.add_(v - v_mean, alpha=1 / (self.loops.t + 1))
                if self.loops.is_last:
                    w.add_(v_mean - w, alpha=group["gamma"] / mu)
                    v.copy_(w)
        self.loops.advance()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """The usual state, and the position in the loops."""
        return {**super().state_dict(), "loops": {"k": self.loops.k, "t": self.loops.t}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state and the position of the loops, which the objective shares."""
        if "loops" not in state_dict:
            raise InputError(
                "`state_dict` must be that of an AGDSBCDOptimizer, got one without 'loops': it belongs to another "
                "optimizer."
            )
        super().load_state_dict(state_dict)
        self.loops.k, self.loops.t = state_dict["loops"]["k"], state_dict["loops"]["t"]
