"""The partial AUC as a torchmetrics metric. This file manages the state; the maths is in ``functional``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from pauc_lightning.metrics.functional.partial_auc import (
    PartialAUCBounds,
    Scale,
    Ties,
    check_arguments,
    compute_exact,
    partial_auc_from_counts,
)
from pauc_lightning.metrics.functional.roc import RocCurve
from pauc_lightning.metrics.score_metric import ScoreMetric
from pauc_lightning.region import Region

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class BinaryPartialAUC(ScoreMetric):
    r"""The partial AUC over all samples seen since the last reset, on one process or many.

    It is the area under the ROC curve inside the region, divided by the region's area. Without ties between the classes
    it is the share of correctly ordered pairs,

    .. math:: \operatorname{mean}_{i \in P,\, j \in N} \mathbf 1[f_i^+ > f_j^-],

    where P holds the ⌊n₊(1 - ``min_tpr``)⌋ lowest-scored positives and N the negatives of descending rank from
    ⌊n₋·``min_fpr``⌋ to ⌊n₋·``max_fpr``⌋. :func:`~pauc_lightning.metrics.functional.binary_partial_auc` defines ties and
    scales and cites the literature.

    As input to ``update`` and ``forward`` the metric accepts

    - ``preds``: finite scores of any floating dtype and shape, which are never transformed; higher is more positive;
    - ``target``: labels 0 and 1 (bool, integer or float), of the shape of ``preds``.

    As output of ``compute`` and ``forward`` it returns a float64 scalar (float32 if the device has no float64).

    In Lightning, log the metric object itself, so that it is reset and synchronised. A batch may be empty or lack a
    class in ``update``; ``compute`` needs both classes. ``forward``, which computes the value of the batch, needs them
    as well; otherwise it raises and changes nothing.

    Args:
        max_fpr: Largest false-positive rate that counts; the paper's β.
        min_tpr: Smallest true-positive rate that counts; the paper's 1 - α.
        min_fpr: Smallest false-positive rate that counts; above 0 it makes a band of rates.
        ties: The credit for a positive that ties with a negative: ``"roc"``, the area under the ROC curve's straight
            line inside the region; or, for comparison with published code only, ``"half"`` a win or a whole ``"win"``.
            Do not select a model by these two: they give a constant score 0.5 or 1 in any region.
        scale: ``"ratio"`` in [0, 1], ``"area"`` (ratio times the region's area), or ``"mcclish"``
            (scikit-learn's ``roc_auc_score(max_fpr=...)``).
        thresholds: None keeps all scores and computes the exact value. A number K counts the scores, which must then
            lie in [0, 1], in K equal bins. The memory no longer grows with the number of samples, the value treats
            the scores of one bin as equal, and :meth:`error_bound` bounds the error.
        validate_args: Whether ``update`` checks that labels are 0 or 1 and scores are finite (and in [0, 1] with
            ``thresholds``); on a GPU this waits for the device.
        kwargs: Arguments of :class:`torchmetrics.Metric`.

    Example:
        >>> metric = BinaryPartialAUC(max_fpr=0.5)
        >>> metric.update(torch.tensor([0.9, 0.8, 0.7]), torch.tensor([1, 0, 1]))
        >>> metric.update(torch.tensor([0.6, 0.5, 0.4]), torch.tensor([0, 0, 0]))
        >>> metric.compute()
        tensor(0.7500, dtype=torch.float64)
    """

    higher_is_better = True
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    def __init__(
        self,
        max_fpr: float = 1.0,
        min_tpr: float = 0.0,
        min_fpr: float = 0.0,
        ties: Ties = "roc",
        scale: Scale = "ratio",
        thresholds: int | None = None,
        validate_args: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(thresholds, validate_args, **kwargs)
        self.region = Region(max_fpr, min_tpr, min_fpr)
        check_arguments(self.region, ties, scale)
        self.ties = ties
        self.scale = scale

    def compute(self) -> Tensor:
        """Compute the partial AUC of everything seen, on all ranks together.

        Raises:
            InputError: If a class is missing, or the region selects no sample.
        """
        if self.thresholds is not None:
            return self._bounds().value
        return self._exact()

    def error_bound(self) -> Tensor:
        """Bound the distance of :meth:`compute` from the exact value; 0 without ``thresholds``.

        Pairs in different bins are ordered correctly, so only pairs in the same bin are uncertain. The bound covers
        their best and their worst order; :func:`~pauc_lightning.metrics.functional.partial_auc_from_counts` has the
        proof. Like ``compute``, call it on every rank.
        """
        if self.thresholds is None:
            return torch.zeros((), dtype=torch.float64, device=self.device)
        with self._all_ranks():
            value, lower, upper = self._bounds()
        return torch.maximum(upper - value, value - lower)

    def plot(
        self, val: Tensor | Sequence[Tensor] | None = None, ax: Axes | None = None
    ) -> tuple[Figure | SubFigure, Axes]:
        """Draw the ROC curve with the region shaded; in DDP call it on every rank.

        ``pauc_lightning.plotting.draw_roc({"model": metric.roc()}, metric.region)`` also enlarges the region.

        Args:
            val: Values of several computations, which are drawn as a sequence instead, as other metrics do.
            ax: Axes to draw into; None makes a new figure.

        Returns:
            The figure and the axes.
        """
        if isinstance(val, Sequence):
            figure, axes = self._plot(val, ax)
            return figure, cast("Axes", axes)  # an array of axes only for values of several classes
        from matplotlib.patches import Rectangle  # slow to import
        from torchmetrics.utilities.plot import plot_curve

        with self._all_ranks():
            curve = self._curve()
            value = self._bounds().value if self.thresholds is not None else self._exact()
        region = self.region
        unit = "" if self.scale == "ratio" else f" ({self.scale})"
        rule = "" if self.ties == "roc" else f', ties="{self.ties}"'  # then the value is not the area
        points = [torch.from_numpy(rates) for rates in (curve.fpr, curve.tpr, curve.thresholds)]
        _, drawn = plot_curve(
            (points[0], points[1], points[2]),
            ax=ax,
            label_names=("False-positive rate", "True-positive rate"),
            name=f"{region.title} = {value:.4f}{unit}{rule}",
        )
        axes = cast("Axes", drawn)
        width, height = region.max_fpr - region.min_fpr, 1 - region.min_tpr
        axes.add_patch(Rectangle((region.min_fpr, region.min_tpr), width, height, alpha=0.2, linewidth=0))
        return axes.figure, axes

    def roc(self) -> RocCurve:
        """Return the ROC curve of everything seen, on all ranks together; in DDP call it on every rank."""
        with self._all_ranks():
            return self._curve()

    def _curve(self) -> RocCurve:
        if self.thresholds is not None:
            return RocCurve.from_counts(self.histogram[1], self.histogram[0])
        return RocCurve.from_scores(*self._samples())

    def _exact(self) -> Tensor:
        return compute_exact(*self._samples(), self.region, self.ties, self.scale)

    def _bounds(self) -> PartialAUCBounds:
        region = self.region
        return partial_auc_from_counts(
            self.histogram[1],
            self.histogram[0],
            region.max_fpr,
            region.min_tpr,
            region.min_fpr,
            self.ties,
            self.scale,
        )
