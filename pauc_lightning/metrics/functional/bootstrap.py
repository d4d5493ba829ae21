"""The bootstrap: statistics of a ROC curve on resampled data, from counts instead of resorted scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.metrics.functional.cells import Cells, Counts

Statistic = Callable[[Counts, Counts], NDArray[np.float64]]
"""Maps positives and negatives per step, both of shape ``(curves, steps)``, to a number for each curve."""

_NUMBERS_AT_ONCE = 1 << 20
_SAFETY = 10
"""Standard deviations by which the steps that are kept exceed those that a resample can need."""


def resampled(
    cells: Cells, statistic: Statistic, n_resamples: int, seed: int, n_negatives: int | None = None
) -> NDArray[np.float64]:
    """Compute a statistic on stratified resamples: both classes are drawn with replacement, each to its own size.

    A resample only decides how many samples fall into each step of the curve, which is a multinomial draw. Nothing
    is sorted, and the cost does not depend on the number of samples of the commoner class.

    Args:
        cells: The steps of the ROC curve.
        statistic: What to compute.
        n_resamples: Number of resamples.
        seed: The same seed gives the same resamples.
        n_negatives: How many negatives, from the highest score down, the statistic looks at; None means all.

    Returns:
        The statistic of each resample, shape ``(n_resamples,)``.
    """
    if n_negatives is not None:
        # A resample has on average as many of the highest negatives as the sample, and varies by about their root.
        cells = cells.until(int(n_negatives + _SAFETY * np.sqrt(n_negatives) + _SAFETY**2))
    draw_positives, draw_negatives = _drawer(cells.positives), _drawer(cells.negatives)
    rng = np.random.default_rng(seed)
    values = [
        statistic(draw_positives(rng, count), draw_negatives(rng, count))
        for count in _portions(n_resamples, len(cells.positives))
    ]
    return np.concatenate(values)


def resampled_together(
    curves: Sequence[Cells],
    is_positive: NDArray[np.bool_],
    groups: NDArray[Any] | None,
    statistic: Callable[[Sequence[tuple[Counts, Counts]]], NDArray[np.float64]],
    n_resamples: int,
    seed: int,
) -> NDArray[np.float64]:
    """Compute a statistic of several ROC curves of the same samples, on the same resamples for all of them.

    Args:
        curves: The steps of each curve.
        is_positive: Which samples are positives, shape ``(samples,)``.
        groups: Draw whole groups instead of samples: the group of each sample, shape ``(samples,)``. The classes then
            vary in size. None draws samples, each class to its own size.
        statistic: Maps the positives and negatives per step of each curve to a number for each resample.
        n_resamples: Number of resamples.
        seed: The same seed gives the same resamples.
    """
    rng = np.random.default_rng(seed)
    weights = _sample_weights(is_positive) if groups is None else _group_weights(groups)
    values = []
    for _ in range(n_resamples):
        drawn = weights(rng)
        counts = [
            (
                np.bincount(cells.step_of, drawn * is_positive, len(cells.positives)).astype(np.int64)[None],
                np.bincount(cells.step_of, drawn * ~is_positive, len(cells.negatives)).astype(np.int64)[None],
            )
            for cells in curves
        ]
        values.append(statistic(counts))
    return np.concatenate(values)


def _portions(total: int, steps: int) -> Iterator[int]:
    """Split the resamples into portions that fit into the cache."""
    size = max(1, _NUMBERS_AT_ONCE // steps)
    for start in range(0, total, size):
        yield min(size, total - start)


def _drawer(counts: Counts) -> Callable[[np.random.Generator, int], Counts]:
    """Return a function that draws ``Σ counts`` samples with replacement and counts them per step."""
    total = int(counts.sum())
    steps = np.flatnonzero(counts)
    if 4 * len(steps) > total:  # drawing single samples is faster then
        step_of = np.repeat(np.arange(len(counts)), counts)

        def draw(rng: np.random.Generator, n: int) -> Counts:
            drawn = step_of[rng.integers(0, total, (n, total), dtype=np.int32)]
            drawn += np.arange(n)[:, None] * len(counts)
            return np.bincount(drawn.ravel(), minlength=n * len(counts)).reshape(n, -1)

        return draw

    shares = counts[steps] / total

    def draw_counts(rng: np.random.Generator, n: int) -> Counts:
        drawn = np.zeros((n, len(counts)), np.int64)
        drawn[:, steps] = rng.multinomial(total, shares, n)
        return drawn

    return draw_counts


def _sample_weights(is_positive: NDArray[np.bool_]) -> Callable[[np.random.Generator], NDArray[np.int64]]:
    members = [np.flatnonzero(is_positive), np.flatnonzero(~is_positive)]

    def draw(rng: np.random.Generator) -> NDArray[np.int64]:
        weights = np.zeros(len(is_positive), np.int64)
        for own in members:
            weights[own] = np.bincount(rng.integers(0, len(own), len(own)), minlength=len(own))
        return weights

    return draw


def _group_weights(groups: NDArray[Any]) -> Callable[[np.random.Generator], NDArray[np.int64]]:
    names, group_of = np.unique(groups, return_inverse=True)

    def draw(rng: np.random.Generator) -> NDArray[np.int64]:
        drawn = np.bincount(rng.integers(0, len(names), len(names)), minlength=len(names))
        return drawn[group_of]

    return draw
