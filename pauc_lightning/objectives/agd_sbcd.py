"""AGD-SBCD: the average of the largest losses per positive, with thresholds by block coordinate descent."""

from __future__ import annotations

import torch
from torch import Tensor

from pauc_lightning.arguments import check_number
from pauc_lightning.errors import InputError
from pauc_lightning.objectives.inner_loops import InnerLoops
from pauc_lightning.objectives.mb import partial_risk
from pauc_lightning.objectives.pairwise import StatefulPairwiseObjective, add_at_, weighted_row_means
from pauc_lightning.objectives.sopa import weigh_above
from pauc_lightning.objectives.surrogate import SurrogateName, get_surrogate
from pauc_lightning.region import Region


class AGDSBCDLoss(StatefulPairwiseObjective):
    """AGD-SBCD's loss: the average of the largest pair losses, with a threshold per positive; one-way only.

    With one threshold λ_i per positive (initially 0) and p_ij = 1[ℓ_ij > λ_i], iteration t of loop k computes

        loss = mean_ij p_ij ℓ_ij,        λ_i ← λ_i − c_λ/(k + 1) · (β − mean_j p_ij).

    When the loop ends, the thresholds too are set to the mean of the loop's T_k new iterates, in which unvisited
    thresholds keep their value. The mean costs no more than the visits: T_k is known, and a step made in
    iteration t is part of T_k − t of the T_k iterates. Train it with
    :class:`pauc_lightning.optim.AGDSBCDOptimizer`, which advances :attr:`loops`.

    An index that occurs twice in a batch makes two steps, both computed at the state before the batch and
    added up. In ``eval()`` mode the loss is β times the batch's exact partial risk, which the loss above equals at
    thresholds that select the ⌊βn₋⌋ largest losses.

    Reference: Yao, Lin and Yang, "Large-scale Optimization of Partial AUC in a Range of False Positive Rates",
    NeurIPS 2022, https://arxiv.org/abs/2203.01505.

    Tuning: the published loops of 50, 200, 450, ... batches suit long runs; lower ``first_loop`` if an epoch has few
    batches.

    Args:
        max_fpr: Largest false-positive rate that counts; the paper's beta.
        min_tpr: Must be 0: the method is one-way.
        train_size: Number of training samples.
        threshold_lr: c_λ of the thresholds' step size; the authors use the network's c for it.
        first_loop: T₀, batches in the first inner loop; the authors use 50, and loop k has T₀ (k + 1)².
        surrogate: Loss of a pair with score gap s: ``squared`` is (1 − s)², as for all methods of the paper's
            comparison; ``logistic`` is log(1 + e^{−s}), the authors' choice.

    Attributes:
        loops: The position in the inner loops.

    Example:
        >>> from pauc_lightning.optim import AGDSBCDOptimizer
        >>> network, loss_fn = torch.nn.Linear(5, 1), AGDSBCDLoss(max_fpr=0.3, train_size=100)
        >>> optimizer = AGDSBCDOptimizer(network.parameters(), loss_fn.loops)
    """

    lambda_: Tensor
    lambda_mean: Tensor

    def __init__(
        self,
        max_fpr: float,
        min_tpr: float = 0.0,
        *,
        train_size: int | None,
        threshold_lr: float = 0.1,
        first_loop: int = 50,
        surrogate: SurrogateName = "squared",
    ) -> None:
        super().__init__(Region(max_fpr, min_tpr), train_size)
        if self.region.is_two_way:
            raise InputError(
                f"AGD-SBCD is defined for one-way regions only, got min_tpr={min_tpr!r}: use "
                "min_tpr=0, or another method for the two-way partial AUC, for example PAUCI or SOPA."
            )
        check_number("threshold_lr", threshold_lr, at_least=0)
        self.loops = InnerLoops(first_loop)
        self.threshold_lr = threshold_lr
        self.surrogate = get_surrogate(surrogate)
        n = self.required_train_size()
        self.register_buffer("lambda_", torch.zeros(n))
        self.register_buffer("lambda_mean", torch.zeros(n))

    @property
    def per_instance_buffers(self) -> tuple[str, ...]:
        """The thresholds, and their means over the current loop."""
        return ("lambda_", "lambda_mean")

    def before_visit(self) -> None:
        """Start a loop at the mean of the previous one, even if its first batch has no pairs."""
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
