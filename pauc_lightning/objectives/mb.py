"""MB: the partial-AUC risk of the mini-batch itself."""

from __future__ import annotations

import torch
from torch import Tensor

from pauc_lightning.objectives.pairwise import PairwiseObjective, weighted_row_means
from pauc_lightning.objectives.surrogate import Surrogate, SurrogateName, get_surrogate
from pauc_lightning.region import Region


def _equally(losses: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
    """Weight 1 for every pair; no statistic."""
    return losses.new_ones(()), losses.new_zeros(())


def partial_risk(f_pos: Tensor, f_neg: Tensor, region: Region, surrogate: Surrogate) -> Tensor:
    """Mean of ℓ(f⁺ − f⁻) over the pairs inside the region: lowest positives with highest negatives.

    At least one positive and one negative are kept, however small the batch.

    Example:
        >>> from pauc_lightning.objectives.surrogate import SURROGATES
        >>> f_pos, f_neg = torch.tensor([0.5, 1.0]), torch.tensor([0.0, 0.5, 0.25, 0.0])
        >>> partial_risk(f_pos, f_neg, Region(max_fpr=0.25), SURROGATES["squared"])
        tensor(0.6250)
    """
    n_pos, first, last = region.counts(len(f_pos), len(f_neg))
    last = max(last, 1)
    first = min(first, last - 1)
    lowest_pos = torch.topk(f_pos, max(n_pos, 1), largest=False).values
    highest_neg = torch.topk(f_neg, last).values[first:]
    means, _ = weighted_row_means(lowest_pos, highest_neg, surrogate, _equally)
    return means.mean()


class MBLoss(PairwiseObjective):
    """MB: the partial-AUC risk with the region selected within each mini-batch.

    OPAUC: the mean of ℓ(f⁺ − f⁻) over all positives and the ⌊β|B₋|⌋ highest-scored negatives of the batch.
    TPAUC: of the positives, too, only the ⌊α|B₊|⌋ lowest-scored.

    Reference: Kar, Narasimhan and Jain, "Online and Stochastic Gradient Methods for Non-decomposable Loss Functions",
    NeurIPS 2014, https://arxiv.org/abs/1410.6776.

    Tuning: use large batches. Small ones select other pairs than the whole data set would: that bias is the
    method's, not the implementation's.

    Args:
        max_fpr: Largest false-positive rate that counts; the paper's beta.
        min_tpr: Smallest true-positive rate that counts; one minus the paper's alpha; 0 is the one-way loss.
        min_fpr: Smallest false-positive rate that counts, for a band of rates.
        surrogate: Loss of a pair with score gap s: ``squared`` is (1 − s)², ``logistic`` is log(1 + e^{−s}).
    """

    def __init__(
        self,
        max_fpr: float,
        min_tpr: float = 0.0,
        *,
        min_fpr: float = 0.0,
        surrogate: SurrogateName = "squared",
    ) -> None:
        super().__init__(Region(max_fpr, min_tpr, min_fpr))
        self.surrogate = get_surrogate(surrogate)

    def pair_loss(self, f_pos: Tensor, f_neg: Tensor, index: Tensor | None) -> Tensor:
        """The risk inside the region."""
        return partial_risk(f_pos, f_neg, self.region, self.surrogate)
