"""The confidence band of a ROC curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pauc_lightning.arguments import check_integer, check_number
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.bootstrap import resampled
from pauc_lightning.metrics.functional.cells import Cells, Counts
from pauc_lightning.metrics.functional.inputs import Values, as_tensors, check_tensors
from pauc_lightning.metrics.functional.wilson import wilson_interval
from pauc_lightning.region import Region

Floats = NDArray[np.float64]

_FEWEST_NEGATIVES = 3
"""With fewer negatives to the left, the data do not bound the curve from below."""


@dataclass(frozen=True)
class RocBand:
    """A ROC curve at given false-positive rates, with an interval of the true-positive rate at each.

    Args:
        fpr: False-positive rates in ascending order, shape ``(points,)``.
        tpr: True-positive rates, shape ``(points,)``.
        low: Lower ends, shape ``(points,)``.
        high: Upper ends, shape ``(points,)``.
        confidence: At each false-positive rate the interval covers the true one with about this probability.
    """

    fpr: Floats
    tpr: Floats
    low: Floats
    high: Floats
    confidence: float


def roc_band(
    preds: Values,
    target: Values,
    fpr: ArrayLike | None = None,
    *,
    confidence: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> RocBand:
    r"""Compute the pointwise confidence band of a ROC curve.

    It is pointwise: at *each* false-positive rate the interval covers the true-positive rate with the given
    probability; the band covers the *whole* curve less often. The variance at a rate comes from the bootstrap, both
    classes drawn to their own size. The interval is Wilson's for a share with that variance, because the percentiles
    of the resamples collapse where the curve reaches 1. In simulations with 50 and 500 positives it covers the true
    rate in 92 to 99 % of the cases at rates with at least three negatives to their left. Further left the lower end is
    0 and the upper end that of the third negative.

    Args:
        preds: Finite scores, any shape; higher means more positive.
        target: Labels 0 and 1, of the shape of ``preds``.
        fpr: False-positive rates at which to compute the band, in [0, 1]; None takes 0, 0.005, ..., 1.
        confidence: Probability with which an interval covers the true rate.
        n_resamples: Number of resamples.
        seed: Seed of the resampling.

    Raises:
        InputError: If scores and labels do not fit together, a class has fewer than two samples, or an argument is out
            of range.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> target = np.arange(1000) % 5 == 0
        >>> band = roc_band(rng.normal(size=1000) + 2 * target, target, [0.05, 0.1])
        >>> for low, rate, high in zip(band.low, band.tpr, band.high):
        ...     print(f"{low:.2f} {rate:.2f} {high:.2f}")
        0.50 0.62 0.73
        0.66 0.75 0.82
    """
    check_number("confidence", confidence, above=0, below=1, hint="95 % is 0.95")
    check_integer("n_resamples", n_resamples, at_least=100)
    rates = np.linspace(0.0, 1.0, 201) if fpr is None else _rates(fpr)
    scores, is_positive = _samples(preds, target)
    n_pos, n_neg = int(is_positive.sum()), int((~is_positive).sum())
    # The upper end is read at the third negative where the data do not reach further left.
    edge = min(1.0, _FEWEST_NEGATIVES / n_neg)
    grid = np.maximum(rates, edge)

    cells = Cells.of(scores, is_positive)
    region = Region(float(grid.max(initial=edge)))
    draws = resampled(cells, partial(_interpolated, fpr=grid), n_resamples, seed, region)
    observed = _interpolated(cells.positives[None], cells.negatives[None], np.concatenate([grid, rates]))[0]
    at_grid, at_rates = np.split(observed, 2)

    low, high = wilson_interval(at_grid, draws.var(axis=0, ddof=1), n_pos, confidence)
    low = np.where(rates < edge, 0.0, low)
    whole = rates == 1  # every score is called positive there
    return RocBand(rates, at_rates, np.where(whole, 1.0, low), np.where(whole, 1.0, high), confidence)


def _interpolated(positives: Counts, negatives: Counts, fpr: Floats) -> Floats:
    """The true-positive rates of many curves, shape ``(curves, rates)``, as ``RocCurve.tpr_at`` reads one."""
    tpr, at = (
        np.pad(np.cumsum(counts, axis=1), ((0, 0), (1, 0))) / counts.sum(axis=1, keepdims=True)
        for counts in (positives, negatives)
    )
    return np.stack([np.interp(fpr, x, y) for x, y in zip(at, tpr, strict=True)])


def _rates(fpr: ArrayLike) -> Floats:
    rates = np.asarray(fpr, np.float64).ravel()
    if not ((rates >= 0) & (rates <= 1)).all() or not (np.diff(rates) >= 0).all():
        raise InputError(
            f"`fpr` must be ascending rates in [0, 1], got {np.asarray(fpr).tolist()!r}: for 1 % write 0.01."
        )
    return rates


def _samples(preds: Values, target: Values) -> tuple[Floats, NDArray[np.bool_]]:
    scores, labels = as_tensors(preds, target)
    check_tensors(scores, labels)
    is_positive = labels.detach().flatten().cpu().numpy() == 1
    for name, count in (("positives", is_positive.sum()), ("negatives", (~is_positive).sum())):
        if count < 2:
            raise InputError(
                f"`target` must hold at least two samples of each class for a band, got {count} {name}: collect more "
                "samples."
            )
    return scores.detach().flatten().double().cpu().numpy(), is_positive
