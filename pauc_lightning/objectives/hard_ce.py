"""Hard CE: cross-entropy of the instances inside the region, the baseline of every partial-AUC loss."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import softplus

from pauc_lightning.objectives.selected import SelectedObjective
from pauc_lightning.objectives.selection import Part
from pauc_lightning.objectives.threshold import MEMORY
from pauc_lightning.region import Region


class HardCELoss(SelectedObjective):
    """Cross-entropy of the logits over the positives and the hardest negatives, each class with weight ½.

    loss = ½ mean₊[ log(1 + e^{−z}) ] + ½ (mean over the negatives inside the region of log(1 + e^z)).

    The negatives are those above one threshold, which is tracked over batches as in
    :class:`~pauc_lightning.objectives.PartialAUCLoss`; in a two-way region the positives, too, are only those below
    one. The classes have equal weights, whatever the batch's share of positives: the region changes the shares anyway.
    It compares no pairs: what a partial-AUC loss gains over it is due to the pairs, not to the selection.

    Reference: hard examples of the mini-batch: Shrivastava, Gupta and Girshick, CVPR 2016,
    https://arxiv.org/abs/1604.03540.

    Tuning: as for cross-entropy, the step size, which should decay to zero, and the weight decay.

    Args:
        max_fpr: Largest false-positive rate that counts; the paper's beta.
        min_tpr: Smallest true-positive rate that counts; one minus the paper's alpha; 0 keeps all positives.
        min_fpr: Smallest false-positive rate that counts, for a band of rates.
        memory: About how many scores beyond a threshold decide its value; more is smoother, fewer follow faster.

    Example:
        >>> import torch
        >>> logits, target = torch.tensor([0.0, 0.0, -50.0]), torch.tensor([1, 0, 0])
        >>> HardCELoss(max_fpr=0.5)(logits, target)  # the negative -50 is outside: log 2 remains
        tensor(0.6931)
    """

    takes = "logits"

    def __init__(
        self, max_fpr: float, min_tpr: float = 0.0, *, min_fpr: float = 0.0, memory: float = MEMORY
    ) -> None:
        super().__init__(Region(max_fpr, min_tpr, min_fpr), memory)

    def region_loss(self, positives: Part, negatives: Part) -> Tensor:
        """Half the mean over either part."""
        return 0.5 * (_mean_loss(positives, -1.0) + _mean_loss(negatives, 1.0))


def _mean_loss(part: Part, sign: float) -> Tensor:
    """The part's mean of log(1 + e^{±z}); the thresholds are constants, which make its value less noisy."""
    mean = part.weight * softplus(sign * part.scores).sum()
    return mean + (part.remainders * softplus(sign * part.thresholds)).sum()
