"""The partial-AUC risk itself, for any surrogate: one threshold selects the region's pairs."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from pauc_lightning.arguments import check_choice
from pauc_lightning.errors import InputError
from pauc_lightning.objectives.pair_sums import pair_sum
from pauc_lightning.objectives.selected import SelectedObjective
from pauc_lightning.objectives.selection import Part
from pauc_lightning.objectives.surrogate import SURROGATES, AnySurrogateName, get_any_surrogate
from pauc_lightning.objectives.threshold import MEMORY
from pauc_lightning.region import Region

Score = Literal["logit", "sigmoid"]


class PartialAUCLoss(SelectedObjective):
    r"""The mean of ℓ(z⁺ − z⁻) over the region's pairs, for any surrogate ℓ and with a single tracked threshold.

    ℓ does not increase, so the βn₋ largest losses of *every* positive are those with the negatives above one threshold
    t, which a fraction β of them exceeds:

        min over t of  R(t) = mean₊[ ℓ(z − t) + (1/β) mean₋ (ℓ(z − z') − ℓ(z − t))₊ ]

    is the exact risk of the region FPR ≤ β. In a two-way region the positives are those below a second threshold; with
    ``min_fpr`` the negatives are those between two. A batch computes R at the tracked thresholds, its gradient flows
    through all scores, and then the thresholds move (:class:`~pauc_lightning.objectives.threshold.TrackedThreshold`).
    They are the whole state: no index, no special sampler, no special optimizer, any batch size. In ``eval()`` mode the
    loss is the batch's exact risk.

    The surrogates, with the cost of n = n₊ + n₋ instances:

    - ``sigmoid``, 1/(1 + e^s), n₊ · βn₋: bounded: hopeless pairs have almost no gradient.
    - ``logistic``, log(1 + e^{−s}), n₊ · βn₋: smooth and convex; every pair counts a little.
    - ``squared_hinge``, ((1 − s)₊)², n log n: smooth; pairs more than 1 apart count nothing.
    - ``hinge``, (1 − s)₊, n log n: the same, less sensitive to hopeless pairs.
    - ``exponential``, e^{−s}, n: the loss is the logarithm of the risk; the hardest pairs rule.
    - ``squared``, (1 − s)², n: the paper's; only for scores in [0, 1].

    References: Rockafellar and Uryasev, "Optimization of Conditional Value-at-Risk", Journal of Risk 2000, for the
    minimum over t; Zhu, Li, Wang, Wu and Yang, ICML 2022, https://arxiv.org/abs/2203.00176, use it with a threshold
    s_i per positive, which is ℓ(z_i − t) here; Rust and Hocking, https://arxiv.org/abs/2302.11062, sort for the
    squared hinge.

    Tuning: on logits the size of the scores matters, and so does the weight decay; divide the logits by T to make the
    hinges want a gap of T instead of 1. Prefer ``sigmoid``, or scores in [0, 1], where some positives are hopeless. A
    wider region than the one that matters may generalise better if examples are few.

    Args:
        max_fpr: Largest false-positive rate that counts; the paper's beta.
        min_tpr: Smallest true-positive rate that counts; one minus the paper's alpha; 0 is the one-way loss.
        min_fpr: Smallest false-positive rate that counts, for a band of rates.
        surrogate: Loss of a pair with score gap s; see the list above.
        score: What the loss is given: "logit" for the network's outputs, "sigmoid" for their sigmoid, in [0, 1]. None
            means "sigmoid" for ``squared``, which needs it, and "logit" for the others.
        memory: About how many scores beyond a threshold decide its value; more is smoother, fewer follow faster.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> y = (torch.rand(2000) < 0.2).long()
        >>> x = torch.randn(2000, 8) + 0.7 * y[:, None]
        >>> model, loss_fn = torch.nn.Linear(8, 1), PartialAUCLoss(max_fpr=0.1)
        >>> optimizer = torch.optim.AdamW([*model.parameters()], lr=0.05)
        >>> for rows in torch.randint(2000, (100, 128)):
        ...     optimizer.zero_grad()
        ...     loss_fn(model(x[rows]).squeeze(1), y[rows]).backward()
        ...     _ = optimizer.step()
        >>> from pauc_lightning.metrics.functional import binary_partial_auc
        >>> bool(binary_partial_auc(model(x).squeeze(1), y, max_fpr=0.1) > 0.55)
        True
    """

    def __init__(
        self,
        max_fpr: float,
        min_tpr: float = 0.0,
        *,
        min_fpr: float = 0.0,
        surrogate: AnySurrogateName = "sigmoid",
        score: Score | None = None,
        memory: float = MEMORY,
    ) -> None:
        super().__init__(Region(max_fpr, min_tpr, min_fpr), memory)
        needs_unit_scores = get_any_surrogate(surrogate).needs_unit_scores
        if score is None:
            score = "sigmoid" if needs_unit_scores else "logit"
        check_choice("score", score, get_args(Score))
        if needs_unit_scores and score == "logit":
            raise InputError(
                f"`surrogate={surrogate!r}` needs scores in [0, 1], got score='logit': it would punish large gaps in "
                "the right order. Use score='sigmoid', or surrogate='squared_hinge'."
            )
        self.surrogate = surrogate
        self.score = score
        self.takes = "logits" if score == "logit" else "scores"

    def region_loss(self, positives: Part, negatives: Part) -> Tensor:
        """The risk; for the exponential surrogate its logarithm."""
        if self.surrogate == "exponential":
            return _log_mean_exp(_mirrored(positives)) + _log_mean_exp(negatives)
        loss = SURROGATES[self.surrogate].value
        pairs = pair_sum(positives.scores, negatives.scores, self.surrogate)
        risk = positives.weight * negatives.weight * pairs
        for threshold, remainder in zip(negatives.thresholds, negatives.remainders, strict=True):
            risk = risk + remainder * positives.weight * loss(positives.scores - threshold).sum()
        for threshold, remainder in zip(positives.thresholds, positives.remainders, strict=True):
            inner = negatives.weight * loss(threshold - negatives.scores).sum()
            inner = inner + (negatives.remainders * loss(threshold - negatives.thresholds)).sum()
            risk = risk + remainder * inner
        return risk

    def extra_repr(self) -> str:
        """The settings, for printing."""
        return f"{self.region.title}, surrogate={self.surrogate!r}, score={self.score!r}"


def _mirrored(part: Part) -> Part:
    """The same part with the signs of all scores changed."""
    return part._replace(scores=-part.scores, thresholds=-part.thresholds)


def _log_mean_exp(part: Part) -> Tensor:
    """The logarithm of the part's mean of e^z, without overflow.

    With one threshold t the mean is e^t + weight · Σ (e^z − e^t), in which no term is negative. With two it is a
    difference, which a small batch may make negative: it is then replaced by its smallest possible value.
    """
    everything = torch.cat([part.scores.detach(), part.thresholds])
    low, top = everything.aminmax()
    mean = part.weight * (part.scores - top).exp().sum()
    mean = mean + (part.remainders * (part.thresholds - top).exp()).sum()
    floor = (low - top).exp().clamp(min=torch.finfo(mean.dtype).tiny)
    return torch.where(mean > floor, mean, floor).log() + top
