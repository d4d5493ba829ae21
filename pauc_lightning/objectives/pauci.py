"""PAUCI: the partial AUC's minimax objective with a softplus in place of the selection's hinge."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor
from torch.nn.functional import softplus

from pauc_lightning.arguments import check_number
from pauc_lightning.objectives.minimax import Constraint, MinimaxObjective
from pauc_lightning.region import Region


class PAUCILoss(MinimaxObjective):
    """PAUCI, the surrogate objective G^{κ,ω}: r(x) = log(1 + e^{κx})/κ exceeds [x]₊ by at most log(2)/κ.

    See :class:`MinimaxObjective` for the equations and the letters.

    The gap to the exact objective is O(1/κ). At the optimal threshold the negatives' *mean weight* equals β. The
    fraction above the threshold is smaller than β where the density of the losses falls, as in an upper tail, larger
    where it rises, and equal in the limit κ → ∞. κ is the sharpness on the scale of the losses,
    which span an interval of length 5 at most.

    References: Jiang et al., "Closing the Approximation Gap of Partial AUC Optimization: A Tale of Two Formulations",
    2025, https://arxiv.org/abs/2512.01213; first in Shao et al., "Asymptotically Unbiased Instance-wise Regularized
    Partial AUC Optimization: Theory and Algorithm", NeurIPS 2022, https://arxiv.org/abs/2210.03967.

    Tuning: raise kappa for a sharper selection, and omega with it (kappa <= 2 + 2 omega). Train it with
    :class:`~pauc_lightning.optim.ASGDA`, from a warm-up and with :meth:`initialize_`.

    Args:
        max_fpr: Largest false-positive rate that counts; the paper's beta.
        min_tpr: Smallest true-positive rate that counts; one minus the paper's alpha; 0 is the one-way objective.
        prior: Fraction of positives in the training batches (the sampler's, not the data set's); None uses
            each batch's own.
        kappa: Sharpness of the softplus. The paper tunes it in [2, 6].
        omega: Strength of the penalty on gamma. The paper's condition for strong concavity is kappa <= 2 + 2 omega.
        constraint: How gamma >= max(-a, b - 1) is kept: "projection" on it, or the paper's "lagrangian" multipliers.
        a: Initial a, in [0, 1].
        b: Initial b, in [0, 1].
        gamma: Initial gamma, in [-1, 1].
        s_neg: Initial threshold on the negatives' losses, in [0, 5]; None selects all.
        s_pos: Initial threshold on the positives' losses, in [-4, 1] (two-way); None selects all.

    Example:
        >>> loss_fn = PAUCILoss(max_fpr=0.5)
        >>> scores, target = torch.tensor([0.9, 0.6, 0.2]), torch.tensor([1, 0, 0])
        >>> loss_fn.initialize_(scores, target)
        >>> {name: round(value.item(), 2) for name, value in loss_fn.variables().items()}
        {'a': 0.9, 'b': 0.6, 'gamma': -0.3, 's_neg': 0.84}
        >>> loss_fn(scores, target).backward()
    """

    def __init__(
        self,
        max_fpr: float,
        min_tpr: float = 0.0,
        *,
        prior: float | None = None,
        kappa: float = 2.0,
        omega: float = 0.0,
        constraint: Constraint = "projection",
        a: float = 1.0,
        b: float = 0.0,
        gamma: float = 0.0,
        s_neg: float | None = None,
        s_pos: float | None = None,
    ) -> None:
        super().__init__(
            Region(max_fpr, min_tpr),
            prior=prior,
            omega=omega,
            constraint=constraint,
            a=a,
            b=b,
            gamma=gamma,
            s_neg=s_neg,
            s_pos=s_pos,
        )
        check_number("kappa", kappa, above=0, hint="the paper tunes it in [2, 6]")
        self.kappa = kappa
        if kappa > 2 + 2 * omega:
            warnings.warn(
                f"kappa={kappa:g} exceeds 2 + 2*omega = {2 + 2 * omega:g}: the objective need not be strongly "
                f"concave in gamma. Lower kappa, or raise omega to {kappa / 2 - 1:g}.",
                stacklevel=2,
            )

    def select(self, excess: Tensor, c: Tensor | None) -> tuple[Tensor, Tensor]:
        """Softplus and its slope."""
        return softplus(excess, beta=self.kappa), torch.sigmoid(self.kappa * excess)

    def extra_repr(self) -> str:
        """The region and the settings, for printing."""
        return f"{super().extra_repr()}, kappa={self.kappa:g}"
