"""The points of a ROC curve: the data behind the partial AUC, for figures and for reading off thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.inputs import Values, as_tensors, check_tensors
from pauc_lightning.region import Region

_POINTS_PER_AXIS = 1000


@dataclass(frozen=True)
class RocCurve:
    """The corners of a ROC curve from (0, 0) to (1, 1), joined by straight lines.

    Samples with equal scores share one threshold and therefore one point. A tie between the classes is a slanted
    line, and the metric counts the area under it that lies in the region (``ties="roc"``).

    Args:
        fpr: False-positive rates in ascending order, shape ``(points,)``.
        tpr: True-positive rates in ascending order, shape ``(points,)``.
        thresholds: Thresholds in descending order, shape ``(points,)``: calling the scores from ``thresholds[i]``
            upwards positive gives the rates ``fpr[i]`` and ``tpr[i]``. The first one is infinite.
    """

    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]
    thresholds: NDArray[np.float64]

    @classmethod
    def from_scores(cls, preds: Values, target: Values) -> RocCurve:
        """Compute the curve of scores and labels with scikit-learn's ``roc_curve``.

        Points in the middle of a straight line are left out.

        Args:
            preds: Finite scores of any shape; higher means more positive. A tensor, an array or a list.
            target: Labels 0 and 1, of the shape of ``preds``.

        Returns:
            The curve; its area is the AUC of the scores.

        Raises:
            InputError: If the scores and labels do not fit together, or a class is missing.

        Example:
            >>> curve = RocCurve.from_scores([0.9, 0.5, 0.5, 0.1], [1, 1, 0, 0])
            >>> curve.fpr.tolist(), curve.tpr.tolist(), curve.thresholds.tolist()
            ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0], [inf, 0.9, 0.5, 0.1])
        """
        from sklearn.metrics import roc_curve  # slow to import, and only figures need it

        scores, labels = as_tensors(preds, target)
        check_tensors(scores, labels)
        values = scores.detach().flatten().double().cpu().numpy()
        is_positive = labels.detach().flatten().cpu().numpy() == 1
        _check_classes(int(is_positive.sum()), int((~is_positive).sum()))
        fpr, tpr, thresholds = roc_curve(is_positive, values)
        return cls(fpr, tpr, thresholds)

    @classmethod
    def from_counts(
        cls, pos_counts: Tensor, neg_counts: Tensor, thresholds: ArrayLike | None = None
    ) -> RocCurve:
        """Compute the curve of binned scores, which treats the scores of one bin as equal.

        Args:
            pos_counts: Number of positives per bin, shape ``(bins,)``, bins in ascending order of score.
            neg_counts: Number of negatives per bin, likewise.
            thresholds: The lower edge of each bin; None means equal bins of [0, 1], as ``BinaryPartialAUC`` makes
                them.

        Returns:
            The curve, with ``bins + 1`` points.

        Raises:
            InputError: If a class is missing.
        """
        n_pos, n_neg = int(pos_counts.sum()), int(neg_counts.sum())
        _check_classes(n_pos, n_neg)
        n_bins = len(pos_counts)
        edges = np.arange(n_bins) / n_bins if thresholds is None else np.asarray(thresholds, np.float64)
        return cls(_rates(neg_counts, n_neg), _rates(pos_counts, n_pos), np.append(np.inf, edges[::-1]))

    def tpr_at(self, fpr: ArrayLike) -> NDArray[np.float64]:
        """Interpolate the true-positive rate linearly; where the curve is vertical, take its upper end.

        Example:
            >>> RocCurve.from_scores([0.9, 0.5, 0.5, 0.1], [1, 1, 0, 0]).tpr_at([0.0, 0.25, 1.0]).tolist()
            [0.5, 0.75, 1.0]
        """
        # numpy's interpolation takes the last of several points with the same rate.
        return np.asarray(np.interp(np.asarray(fpr, np.float64), self.fpr, self.tpr))

    def thinned(self, region: Region) -> RocCurve:
        """Keep at most a few thousand points, within a pixel of the curve; a figure of the region looks the same."""
        steps = np.linspace(0.0, 1.0, _POINTS_PER_AXIS)
        fpr_steps = np.concatenate([steps, region.min_fpr + steps * (region.max_fpr - region.min_fpr)])
        tpr_steps = np.concatenate([steps, region.min_tpr + steps * (1.0 - region.min_tpr)])
        last = self.fpr.size - 1
        if last < fpr_steps.size + tpr_steps.size:
            return self
        picked = np.unique(
            np.concatenate([[0, last], self.fpr.searchsorted(fpr_steps), self.tpr.searchsorted(tpr_steps)])
        ).clip(max=last)
        return RocCurve(self.fpr[picked], self.tpr[picked], self.thresholds[picked])

    def clipped(self, low: float, high: float) -> RocCurve:
        """Cut out the part with false-positive rates in ``[low, high]``; its two ends are interpolated."""
        inside = (self.fpr > low) & (self.fpr <= high)
        ends = self.tpr_at([low, high])
        # The end points lie between two thresholds; the stricter one keeps the promised false-positive rate.
        stricter = self.thresholds[self.fpr.searchsorted([low, high], side="right") - 1]
        return RocCurve(
            np.concatenate([[low], self.fpr[inside], [high]]),
            np.concatenate([ends[:1], self.tpr[inside], ends[1:]]),
            np.concatenate([stricter[:1], self.thresholds[inside], stricter[1:]]),
        )


def _rates(counts: Tensor, total: int) -> NDArray[np.float64]:
    return np.append(0.0, counts.flip(0).cumsum(0).cpu().numpy() / total)


def _check_classes(n_pos: int, n_neg: int) -> None:
    for name, count in (("positive", n_pos), ("negative", n_neg)):
        if count == 0:
            raise InputError(
                f"`target` must contain both classes to draw a ROC curve, got no {name} among {n_pos + n_neg} "
                "labels: collect more samples first."
            )
