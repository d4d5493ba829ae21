"""The partial AUC as a torchmetrics metric. This file manages the state; the maths is in ``functional``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import reduce
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.data import dim_zero_cat
from torchmetrics.utilities.distributed import gather_all_tensors

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.inputs import SCORE_DTYPES, Values, as_tensors, check_tensors
from pauc_lightning.metrics.functional.partial_auc import (
    PartialAUCBounds,
    Scale,
    Ties,
    check_arguments,
    compute_exact,
    partial_auc_from_counts,
    widest_float,
)
from pauc_lightning.metrics.functional.roc import RocCurve
from pauc_lightning.region import Region

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


_FORWARD_FLAGS = (
    *("_update_count", "_computed", "_is_synced", "_should_unsync", "_to_sync", "_enable_grad"),
    "compute_on_cpu",
)
"""The attributes that torchmetrics' ``forward`` changes besides the states."""


class BinaryPartialAUC(Metric):
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

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0

    # Not named `preds` and `target`: a MetricCollection lets metrics whose states look alike share one
    # update, and torchmetrics' own may pass the scores through a sigmoid in theirs.
    scores: list[Tensor]
    labels: list[Tensor]
    histogram: Tensor

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
        kwargs.setdefault("dist_sync_fn", _gather_promoted)
        super().__init__(**kwargs)
        self.region = Region(max_fpr, min_tpr, min_fpr)
        check_arguments(self.region, ties, scale)
        if thresholds is not None and (
            isinstance(thresholds, bool) or not isinstance(thresholds, Integral) or thresholds < 2
        ):
            raise InputError(
                f"`thresholds` must be None (exact) or a number of bins from 2 on, got {thresholds!r}: 10000 "
                "is a good start."
            )
        self.ties = ties
        self.scale = scale
        self.thresholds = None if thresholds is None else int(thresholds)
        self.validate_args = validate_args
        if self.thresholds is None:
            self.add_state("scores", [], dist_reduce_fx="cat")
            self.add_state("labels", [], dist_reduce_fx="cat")
        else:
            self.add_state(
                "histogram", torch.zeros(2, self.thresholds, dtype=torch.int64), dist_reduce_fx="sum"
            )

    def update(self, preds: Values, target: Values) -> None:
        """Add a batch.

        Args:
            preds: Finite scores of any floating dtype and shape; higher means more positive. A tensor, a numpy
                array, a list (its numbers are read as float64) or a pandas Series.
            target: Labels 0 and 1 (bool, integer or float), of the shape of ``preds``.

        Raises:
            InputError: If scores and labels do not fit together.
        """
        scores, labels = as_tensors(preds, target, self.device)
        check_tensors(scores, labels, values=self.validate_args)
        scores, labels = scores.detach().flatten(), labels.detach().flatten()
        if scores.numel() == 0:
            return
        if self.thresholds is None:
            self.scores.append(scores)
            # torchmetrics gives a rank without samples a float32 state, which cannot be gathered with integer ones.
            self.labels.append(labels.float())
        else:
            self.histogram = self.histogram + self._count(scores, labels, self.thresholds)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch and return its own value; a batch with one class only is rejected and changes nothing."""
        # torchmetrics sets the state aside, computes on the batch, and puts it back only if that succeeds.
        names = [*self._defaults, *_FORWARD_FLAGS]
        before = {name: getattr(self, name) for name in names}
        before |= {name: list(value) for name, value in before.items() if isinstance(value, list)}
        try:
            return super().forward(*args, **kwargs)
        except Exception:
            for name, value in before.items():
                setattr(self, name, value)
            raise

    def _count(self, scores: Tensor, labels: Tensor, n_bins: int) -> Tensor:
        """Count negatives and positives per bin, shape (2, bins)."""
        if self.validate_args:
            low, high = scores.aminmax()
            if low < 0 or high > 1:
                raise InputError(
                    f"`preds` must lie in [0, 1] with `thresholds`, got scores from {low.item():g} to "
                    f"{high.item():g}: pass probabilities (logits.sigmoid()), or thresholds=None."
                )
        # In the widest dtype, the bin is a monotone function of the score for scores of any dtype.
        bins = (scores.to(widest_float(scores.device)) * n_bins).long().clamp(0, n_bins - 1)
        cells = bins + n_bins * (labels == 1)
        counts = cells.new_zeros(2 * n_bins).index_add(0, cells, torch.ones_like(cells))
        return counts.view(2, n_bins)

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

    def _samples(self) -> tuple[Tensor, Tensor]:
        if isinstance(self.scores, list) and not self.scores:
            return torch.empty(0, device=self.device), torch.empty(0, device=self.device)
        return dim_zero_cat(self.scores), dim_zero_cat(self.labels)

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

    def _all_ranks(self) -> AbstractContextManager[None]:
        """Let the states hold every rank's samples within the block; torchmetrics does so for ``compute`` only."""
        return self.sync_context(
            dist_sync_fn=self.dist_sync_fn, should_sync=self._to_sync and not self._is_synced
        )


def _gather_promoted(result: Tensor, group: Any = None) -> list[Tensor]:
    """Gather as torchmetrics does, but in a dtype that all ranks agree on.

    A rank without samples contributes float32, and mixed precision may give ranks different dtypes. A collective of
    different dtypes crashes or returns garbage. Widening a float is exact.
    """
    if result.is_floating_point():
        code = torch.tensor(SCORE_DTYPES.index(result.dtype), device=result.device)
        dtypes = [SCORE_DTYPES[int(other)] for other in gather_all_tensors(code, group)]
        result = result.to(reduce(torch.promote_types, dtypes))
    gathered: list[Tensor] = gather_all_tensors(result, group)
    return gathered
