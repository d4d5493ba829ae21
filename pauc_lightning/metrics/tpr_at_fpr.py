"""The recall at a false-positive budget as a torchmetrics metric."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from pauc_lightning.arguments import check_number
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.operating_point import OperatingPoint, tpr_at_fpr
from pauc_lightning.metrics.functional.partial_auc import widest_float
from pauc_lightning.metrics.score_metric import ScoreMetric
from pauc_lightning.region import select_count


class BinaryTPRAtFPR(ScoreMetric):
    """The largest recall within a false-positive budget, over all samples seen since the last reset.

    Of the thresholds that call at most ⌊n₋·``max_fpr``⌋ negatives positive, it is the recall of the lowest; see
    :func:`~pauc_lightning.metrics.functional.tpr_at_fpr`. :meth:`operating_point` also returns that threshold, and the
    precision there.

    As input to ``update`` and ``forward`` the metric accepts

    - ``preds``: finite scores of any floating dtype and shape, which are never transformed; higher is more positive;
    - ``target``: labels 0 and 1 (bool, integer or float), of the shape of ``preds``.

    As output of ``compute`` and ``forward`` it returns a float64 scalar (float32 if the device has no float64).

    Args:
        max_fpr: The budget: the largest false-positive rate, in [0, 1].
        thresholds: None keeps all scores. A number K counts the scores, which must then lie in [0, 1], in K equal bins:
            the memory no longer grows with the number of samples, and only the bins' edges are thresholds.
        validate_args: Whether ``update`` checks that labels are 0 or 1 and scores are finite (and in [0, 1] with
            ``thresholds``); on a GPU this waits for the device.
        kwargs: Arguments of :class:`torchmetrics.Metric`.

    Example:
        >>> metric = BinaryTPRAtFPR(max_fpr=0.5)
        >>> metric.update(torch.tensor([0.9, 0.8, 0.7]), torch.tensor([1, 0, 1]))
        >>> metric.update(torch.tensor([0.6, 0.5]), torch.tensor([1, 0]))
        >>> metric.compute()
        tensor(1., dtype=torch.float64)
        >>> metric.operating_point()
        OperatingPoint(threshold=0.6..., fpr=0.5, tpr=1.0, precision=0.75)
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(
        self, max_fpr: float, thresholds: int | None = None, validate_args: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(thresholds, validate_args, **kwargs)
        check_number("max_fpr", max_fpr, at_least=0, at_most=1, hint="for 1 % write 0.01")
        self.max_fpr = float(max_fpr)

    def compute(self) -> Tensor:
        """Compute the recall of everything seen, on all ranks together.

        Raises:
            InputError: If a class is missing.
        """
        if self.thresholds is not None:
            point = self._binned_point()
            return torch.tensor(point.tpr, dtype=widest_float(self.device), device=self.device)
        scores, labels = self._samples()
        is_positive = labels == 1
        positives, negatives = scores[is_positive], scores[~is_positive]
        _check_classes(len(positives), len(negatives))
        n_beyond = len(negatives) - select_count(len(negatives), self.max_fpr)
        found = torch.ones_like(positives, dtype=torch.bool)
        if n_beyond > 0:  # above the first negative beyond the budget
            found = positives > negatives.kthvalue(n_beyond).values
        return found.sum().to(widest_float(scores.device)) / len(positives)

    def operating_point(self) -> OperatingPoint:
        """Return the threshold of that recall, its rates and its precision; in DDP call it on every rank."""
        with self._all_ranks():
            if self.thresholds is not None:
                return self._binned_point()
            return tpr_at_fpr(*self._samples(), self.max_fpr)

    def _binned_point(self) -> OperatingPoint:
        assert self.thresholds is not None
        negatives, positives = self.histogram.cpu().flip(1)  # from the highest bin down
        n_pos, n_neg = int(positives.sum()), int(negatives.sum())
        _check_classes(n_pos, n_neg)
        is_within = negatives.cumsum(0) <= select_count(n_neg, self.max_fpr)
        useful = torch.nonzero(is_within & (positives > 0)).flatten()
        if len(useful) == 0:
            return OperatingPoint(math.inf, 0.0, 0.0, math.nan)
        last = int(useful[-1])
        found, false = int(positives[: last + 1].sum()), int(negatives[: last + 1].sum())
        edge = (self.thresholds - 1 - last) / self.thresholds
        return OperatingPoint(edge, false / n_neg, found / n_pos, found / (found + false))


def _check_classes(n_pos: int, n_neg: int) -> None:
    if n_pos == 0 or n_neg == 0:
        missing = "positive" if n_pos == 0 else "negative"
        raise InputError(
            f"`target` must contain both classes, got no {missing} among {n_pos + n_neg} labels: collect more samples."
        )
