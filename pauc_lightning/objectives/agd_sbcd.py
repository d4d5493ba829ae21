"""AGD-SBCD: average of the top losses per positive, thresholds by block coordinate descent."""

from __future__ import annotations

import torch
from torch import Tensor

from pauc_lightning.arguments import check_number
from pauc_lightning.errors import InputError
from pauc_lightning.objectives.mb import partial_risk
from pauc_lightning.objectives.pairwise import StatefulPairwiseObjective, add_at_, weighted_row_means
from pauc_lightning.objectives.sopa import weigh_above
from pauc_lightning.objectives.surrogate import SurrogateName, get_surrogate
from pauc_lightning.optim.agd_sbcd import InnerLoops
from pauc_lightning.region import Region


class AGDSBCDLoss(StatefulPairwiseObjective):
    """The objective's part of AGD-SBCD (Yao, Lin and Yang 2022): loss and thresholds of an inner iteration.

    With one threshold λ_i per positive (initially 0) and p_ij = 1[ℓ_ij > λ_i], iteration t of loop k computes

        loss = mean_ij p_ij ℓ_ij,        λ_i ← λ_i − c_λ/(k + 1) · (β − mean_j p_ij).

    When the loop ends the thresholds, too, are set to the mean of the loop's T_k new iterates (unvisited
    thresholds count with the value they have). T_k is known, so the mean costs no more than the visits: a
    step made in iteration t is part of T_k − t of the T_k iterates. Train it with
    :class:`pauc_lightning.optim.AGDSBCDOptimizer` and the same ``loops``.

    An index that occurs twice in a batch makes two steps, both computed at the state before the batch and
    added up. In ``eval()`` mode the loss is β times the batch's exact partial risk, which is what the loss above
    becomes at thresholds that select the ⌊βn₋⌋ largest losses.

    Args:
        train_size: Number of training samples.
        max_fpr: Largest false-positive rate that counts; the paper's beta.
        loops: The position that the optimizer advances.
        min_tpr: Must be 0: the method is one-way.
        threshold_lr: c_λ of the thresholds' step size; the authors use the network's c for it.
        surrogate: Pairwise loss: ``logistic``, the authors' choice, or ``squared``.
    """

    lambda_: Tensor
    lambda_mean: Tensor

    def __init__(
        self,
        train_size: int,
        max_fpr: float,
        loops: InnerLoops,
        min_tpr: float = 0.0,
        threshold_lr: float = 0.1,
        surrogate: SurrogateName = "logistic",
    ) -> None:
        super().__init__(train_size)
        self.region = Region(max_fpr, min_tpr)
        if self.region.is_two_way:
            raise InputError(
                f"AGD-SBCD is defined for one-way regions only, got min_tpr={min_tpr!r}: use "
                "min_tpr=0, or another method for the two-way partial AUC, for example PAUCI or SOPA."
            )
        if not isinstance(loops, InnerLoops):
            raise InputError(
                f"`loops` must be the InnerLoops that the optimizer advances, got {loops!r}: make one and give it to "
                "both."
            )
        check_number("threshold_lr", threshold_lr, at_least=0)
        self.per_instance_buffers = ("lambda_", "lambda_mean")
        self.loops = loops
        self.threshold_lr = threshold_lr
        self.surrogate = get_surrogate(surrogate)
        self.register_buffer("lambda_", torch.zeros(train_size))
        self.register_buffer("lambda_mean", torch.zeros(train_size))

    def before_visit(self) -> None:
        """A loop starts where the last one's mean is, whether or not its first batch has pairs."""
        if self.loops.t == 0:
            self.lambda_.copy_(self.lambda_mean)

    def pair_loss(self, f_pos: Tensor, f_neg: Tensor, index: Tensor | None) -> Tensor:
        """The loss at the thresholds, which then move."""
        beta = self.region.beta
        if index is None:
            return beta * partial_risk(f_pos, f_neg, self.region, self.surrogate)
        thresholds = self.lambda_[index].to(f_pos.dtype)
        risk, p_mean = weighted_row_means(f_pos, f_neg, self.surrogate, weigh_above(thresholds))
        step = -self.threshold_lr / (self.loops.k + 1) * (beta - p_mean)
        add_at_(self.lambda_, index, step)
        add_at_(self.lambda_mean, index, step * (1 - self.loops.t / self.loops.length))
        self._variables = {"threshold": thresholds.mean(), "selected": p_mean.mean()}
        return risk.mean()
