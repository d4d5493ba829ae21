"""The samples that a metric has seen, as state of a torchmetrics metric; its subclasses compute."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import reduce
from numbers import Integral
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.data import dim_zero_cat
from torchmetrics.utilities.distributed import gather_all_tensors

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.inputs import SCORE_DTYPES, Values, as_tensors, check_tensors
from pauc_lightning.metrics.functional.interval import Interval
from pauc_lightning.metrics.functional.partial_auc import widest_float

_FORWARD_FLAGS = (
    *("_update_count", "_computed", "_is_synced", "_should_unsync", "_to_sync", "_enable_grad"),
    "compute_on_cpu",
)
"""The attributes that torchmetrics' ``forward`` changes besides the states."""


class ScoreMetric(Metric):
    """A metric of the scores and labels of all samples seen since the last reset, on one process or many.

    Args:
        thresholds: None keeps all scores. A number K counts the scores, which must then lie in [0, 1], in K equal bins,
            so that the memory does not grow with the number of samples.
        validate_args: Whether ``update`` checks that labels are 0 or 1 and scores are finite (and in [0, 1] with
            ``thresholds``); on a GPU this waits for the device.
        kwargs: Arguments of :class:`torchmetrics.Metric`.
    """

    is_differentiable = False
    full_state_update = False

    # Not named `preds` and `target`: a MetricCollection lets metrics whose states look alike share one
    # update, and torchmetrics' own may pass the scores through a sigmoid in theirs.
    scores: list[Tensor]
    labels: list[Tensor]
    histogram: Tensor

    def __init__(self, thresholds: int | None = None, validate_args: bool = True, **kwargs: Any) -> None:
        kwargs.setdefault("dist_sync_fn", _gather_promoted)
        super().__init__(**kwargs)
        if thresholds is not None and (
            isinstance(thresholds, bool) or not isinstance(thresholds, Integral) or thresholds < 2
        ):
            raise InputError(
                f"`thresholds` must be None (exact) or a number of bins from 2 on, got {thresholds!r}: 10000 "
                "is a good start."
            )
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

    def _samples(self) -> tuple[Tensor, Tensor]:
        if isinstance(self.scores, list) and not self.scores:
            return torch.empty(0, device=self.device), torch.empty(0, device=self.device)
        return dim_zero_cat(self.scores), dim_zero_cat(self.labels)

    def _all_ranks(self) -> AbstractContextManager[None]:
        """Let the states hold every rank's samples within the block; torchmetrics does so for ``compute`` only."""
        return self.sync_context(
            dist_sync_fn=self.dist_sync_fn, should_sync=self._to_sync and not self._is_synced
        )


def as_scalars(interval: Interval, device: torch.device) -> dict[str, Tensor]:
    """The value, the ends and the standard error of an interval, as a metric returns them."""
    dtype = widest_float(device)
    return {
        name: torch.tensor(number, dtype=dtype, device=device)
        for name, number in asdict(interval).items()
        if name != "confidence"
    }


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
