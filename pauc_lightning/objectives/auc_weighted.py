"""The base class of AUC-poly and AUC-exp: soft weights that favour hard instances."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from pauc_lightning.arguments import check_number
from pauc_lightning.objectives.pairwise import PairwiseObjective
from pauc_lightning.objectives.surrogate import get_surrogate
from pauc_lightning.region import Region


def weighted_squared_risk(f_pos: Tensor, f_neg: Tensor, v_pos: Tensor, v_neg: Tensor) -> Tensor:
    """Mean over all pairs of v_i⁺ v_j⁻ (1 − f_i⁺ + f_j⁻)², in O(n₊ + n₋).

    With t = 1 − f⁺ the square is t² + 2 t f⁻ + (f⁻)²: three products of a mean over the positives and a mean
    over the negatives. For scores in [0, 1] no term is negative, so nothing cancels, and autograd can
    differentiate the result by the weights.

    Example:
        >>> f_pos, f_neg = torch.tensor([1.0, 0.5]), torch.tensor([0.5])
        >>> weighted_squared_risk(f_pos, f_neg, torch.tensor([1.0, 2.0]), torch.tensor([3.0]))
        tensor(3.3750)
    """
    t = 1 - f_pos
    return (
        (v_pos * t * t).mean() * v_neg.mean()
        + 2 * (v_pos * t).mean() * (v_neg * f_neg).mean()
        + v_pos.mean() * (v_neg * f_neg * f_neg).mean()
    )


class AUCWeightedObjective(PairwiseObjective):
    """The squared risk over all pairs, with hard instances weighted by φ, which subclasses define.

    loss = mean_ij v_i⁺ v_j⁻ (1 − f_i⁺ + f_j⁻)² with v⁻ = φ(f⁻), and v⁺ = φ(1 − f⁺) in a two-way region (TPAUC) or
    v⁺ = 1 in a one-way region (OPAUC). The gradient flows through the weights. Scores must lie in [0, 1].

    φ(0) is (nearly) 0, and so is the loss of scores that are all 0: training finds this useless minimum if the
    weights start before the classes are separated. Set :attr:`is_weighted` to False until then.
    """

    is_weighted: bool = True
    """Whether hard instances weigh more; False gives all pairs the weight 1. Change it at any time."""

    def __init__(self, region: Region, gamma: float) -> None:
        super().__init__(region)
        check_number("gamma", gamma, above=0, hint="see the class for the paper's values")
        self.surrogate = get_surrogate("squared")
        self.gamma = gamma

    def pair_loss(self, f_pos: Tensor, f_neg: Tensor, index: Tensor | None) -> Tensor:
        """The weighted risk over all pairs."""
        v_pos, v_neg = torch.ones_like(f_pos), torch.ones_like(f_neg)
        if self.is_weighted:
            v_neg = self._weigh(f_neg)
            if self.region.is_two_way:
                v_pos = self._weigh(1 - f_pos)
        return weighted_squared_risk(f_pos, f_neg, v_pos, v_neg)

    def _weigh(self, t: Tensor) -> Tensor:
        # Rounding may leave t slightly below 0. Unlike clamp, this keeps the slope at t = 0.
        return self.phi(t.masked_fill(t < 0, 0.0))

    @abstractmethod
    def phi(self, t: Tensor) -> Tensor:
        """The weight of an instance that is wrong by t ≥ 0."""
