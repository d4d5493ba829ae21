"""UPAUCI: the partial AUC's minimax objective, unbiased, with a selection weight per instance."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from pauc_lightning.arguments import check_choice, check_number
from pauc_lightning.distributed import gather
from pauc_lightning.errors import InputError
from pauc_lightning.objectives.minimax import UNIT_BOX, Constraint, MinimaxObjective
from pauc_lightning.region import Region

Weights = Literal["closed_form", "ascent"]


class UPAUCILoss(MinimaxObjective):
    """UPAUCI, the unbiased objective H − ω(γ² + c²): r(x) = c·x − ωc² with a weight c ∈ [0, 1], maximised over c.

    [x]₊ = max over c of c·x, so ω = 0 is the exact partial-AUC risk. The penalty on c is inside the mean over the
    instances; as a sum over the training set it would outweigh the data n times. See
    :class:`MinimaxObjective` for the equations and the letters.

    Two schemes for c:

    - ``closed_form``: c = clip(x/(2ω), 0, 1), the inner maximum, at every evaluation (ω = 0: 1[x > 0]). No memory.
    - ``ascent``: one stored weight per training instance (4 bytes), moved by :meth:`ascend_` when the instance is
      visited. Both evaluations of an optimizer step read the stored weights and leave them alone. In ``eval()``
      mode the inner maximum takes their place, so that the loss can be computed on validation data.

    Reference: Jiang et al., "Closing the Approximation Gap of Partial AUC Optimization: A Tale of Two Formulations",
    2025, https://arxiv.org/abs/2512.01213.

    Tuning: a small omega selects almost exactly the region, a larger one spreads the weight over more instances; raise
    it if the hardest instances cannot be learned. Prefer the closed form to ascent. Train it with
    :class:`~pauc_lightning.optim.ASGDA`, from a warm-up and with :meth:`initialize_`.

    Args:
        max_fpr: Largest false-positive rate that counts; the paper's beta.
        min_tpr: Smallest true-positive rate that counts; one minus the paper's alpha; 0 is the one-way objective.
        train_size: Number of training instances; needed for "ascent".
        prior: Fraction of positives in the training batches (the sampler's, not the data set's); None uses
            each batch's own.
        omega: Strength of the penalty on gamma and on the weights.
        constraint: How gamma >= max(-a, b - 1) is kept: "projection" on it, or the paper's "lagrangian" multipliers.
        weights: How the selection weights are maximised: "closed_form" or "ascent".
        c_step: Step size of the stored weights; for "ascent". 1 / (2 omega) goes to the inner maximum at every
            visit; with much smaller steps the weights lag behind the thresholds.
        a: Initial a, in [0, 1].
        b: Initial b, in [0, 1].
        gamma: Initial gamma, in [-1, 1].
        s_neg: Initial threshold on the negatives' losses, in [0, 5]; None selects all.
        s_pos: Initial threshold on the positives' losses, in [-4, 1] (two-way); None selects all.
        c: Initial value of all stored weights, in [0, 1]; for "ascent".

    Example:
        >>> loss_fn = UPAUCILoss(max_fpr=0.5, omega=0.0)
        >>> scores, target = torch.tensor([0.9, 0.6, 0.2]), torch.tensor([1, 0, 0])
        >>> loss_fn.initialize_(scores, target)
        >>> 1 + loss_fn(scores, target)  # (1 - (0.9 - 0.6))², the risk of the only selected pair
        tensor(0.4900, grad_fn=<AddBackward0>)
    """

    c: Tensor | None

    def __init__(
        self,
        max_fpr: float,
        min_tpr: float = 0.0,
        *,
        train_size: int | None = None,
        prior: float | None = None,
        omega: float = 0.5,
        constraint: Constraint = "projection",
        weights: Weights = "closed_form",
        c_step: float = 1.0,
        a: float = 1.0,
        b: float = 0.0,
        gamma: float = 0.0,
        s_neg: float | None = None,
        s_pos: float | None = None,
        c: float = 1.0,
    ) -> None:
        super().__init__(
            Region(max_fpr, min_tpr),
            prior=prior,
            train_size=train_size,
            omega=omega,
            constraint=constraint,
            a=a,
            b=b,
            gamma=gamma,
            s_neg=s_neg,
            s_pos=s_pos,
        )
        check_choice("weights", weights, get_args(Weights))
        check_number("c", c, at_least=0, at_most=1, hint="it must start in its box")
        check_number("c_step", c_step, above=0)
        self.weights = weights
        self.c_step = c_step
        stored = torch.full((self.required_train_size(),), float(c)) if weights == "ascent" else None
        self.register_buffer("c", stored)

    @property
    def per_instance_buffers(self) -> tuple[str, ...]:
        """The stored weights, for "ascent"."""
        return () if self.c is None else ("c",)

    @torch.no_grad()
    def ascend_(self, scores: Tensor, target: Tensor, index: Tensor) -> None:
        """One ascent step of the visited instances' stored weights: c ← clip(c + step·(x − 2ωc), 0, 1).

        x − 2ωc is the instance's own derivative. The 1/|B| of the batch mean is left out: c_i occurs only
        in its own term, so the saddle point is the same, and a few visits of each instance are enough to reach it.

        Call it once per batch, before the two evaluations of the optimizer's step: the step's estimator takes
        the difference of two gradients on the batch as an estimate for *all* data, so a change of c in between,
        which concerns this batch alone, would count n/|B| times too much.

        An index that occurs k times in a batch makes k steps, added up and clipped once. On several processes
        each applies the steps of all, so the weights stay equal; only data of the batch's size are exchanged. In
        the one-way objective positives have no weight, and their stored values do not change.

        Args:
            scores: Sigmoid outputs in [0, 1], shape ``(B,)``.
            target: 1 for positives, 0 for negatives, shape ``(B,)``.
            index: Position of each instance in the training set, shape ``(B,)``.
        """
        if self.c is None:
            raise InputError(
                f"`ascend_` is for weights='ascent', but this objective has weights={self.weights!r}."
            )
        f, y, checked_index = self.checked(scores, target, index, uses_index=True)
        assert checked_index is not None
        c = self.c.index_select(0, checked_index)
        is_weighted = torch.ones_like(y) if self.region.is_two_way else 1 - y
        step = self.c_step * (self.excess(f, y) - 2 * self.omega * c) * is_weighted
        index, step = gather(checked_index), gather(step.to(c.dtype))
        # O(batch), independent of the training set's size; accumulation is deterministic even on a GPU.
        self.c.index_put_((index,), step, accumulate=True)
        self.c.index_copy_(0, index, self.c.index_select(0, index).clamp_(*UNIT_BOX))

    def select(self, excess: Tensor, c: Tensor | None) -> tuple[Tensor, Tensor]:
        """c·x − ωc² and c, which is stored or the inner maximum."""
        if c is not None:
            c = c.to(excess.dtype)
        elif self.omega > 0:
            c = (excess * (0.5 / self.omega)).clamp(*UNIT_BOX)
        else:
            c = (excess > 0).to(excess.dtype)
        return c * (excess - self.omega * c), c

    def stored_weights(self, index: Tensor | None) -> Tensor | None:
        """The stored weights of the batch's instances, in ``train()`` mode."""
        return None if self.c is None or index is None else self.c.index_select(0, index)

    def store_selection_(self, selected: Tensor, is_pos: Tensor, index: Tensor | None) -> None:
        """Weight 1 for the selected instances, 0 for the others; one-way, positives have none."""
        if self.c is None or index is None:
            return
        c = self.c.index_select(0, index)
        new = selected.to(c.dtype)
        self.c.index_copy_(0, index, new if self.region.is_two_way else torch.where(is_pos, c, new))

    def extra_repr(self) -> str:
        """The region and the settings, for printing."""
        stored = "" if self.c is None else f", train_size={len(self.c)}, c_step={self.c_step:g}"
        return f"{super().extra_repr()}, weights={self.weights!r}{stored}"
