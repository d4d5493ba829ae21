"""CE: binary cross-entropy of the logits."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from pauc_lightning.objectives.base import Objective
from pauc_lightning.region import Region


class CELoss(Objective):
    """Binary cross-entropy: the mean of −y log f − (1 − y) log(1 − f) with f the sigmoid of the logit.

    It takes logits, not scores: the logarithm of a sigmoid is exact there, while log f is −∞ or 0 once f has been
    rounded to 0 or 1. It ignores the region.

    Tuning: only the optimizer's step size; let it decay to zero for a fair comparison with other losses.

    Args:
        max_fpr: Largest false-positive rate that counts; the loss does not use it.
        min_tpr: Smallest true-positive rate that counts; the loss does not use it.

    Example:
        >>> import torch
        >>> CELoss()(torch.tensor([0.0, 100.0]), torch.tensor([1, 1]))  # log 2 and 0
        tensor(0.3466)
    """

    takes = "logits"

    def __init__(self, max_fpr: float = 1.0, min_tpr: float = 0.0) -> None:
        super().__init__(Region(max_fpr, min_tpr))

    def loss(self, f: Tensor, y: Tensor, index: Tensor | None, normalizer: Tensor | float) -> Tensor:
        """The sum over the batch divided by the normalizer."""
        return binary_cross_entropy_with_logits(f, y, reduction="sum") / normalizer
