"""The bootstrap: statistics of a ROC curve on resampled data, from counts instead of resorted scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.metrics.functional.cells import Cells, Counts
from pauc_lightning.metrics.functional.urn import Urn
from pauc_lightning.region import Region, select_count

Statistic = Callable[[Counts, Counts], NDArray[np.float64]]
"""Maps positives and negatives per step, both of shape ``(curves, steps)``, to a number for each curve."""

JointStatistic = Callable[[Sequence[tuple[Counts, Counts]]], NDArray[np.float64]]
"""The same for several curves of the same samples: a number for each resample."""

_NUMBERS_AT_ONCE = 1 << 18
"""How many numbers are drawn at once, so that they stay in the processor's cache."""
_SAFETY = 10
"""Standard deviations by which the steps that are kept exceed those that a resample can need."""


def resampled(
    cells: Cells, statistic: Statistic, n_resamples: int, seed: int, region: Region | None = None
) -> NDArray[np.float64]:
    """Compute a statistic on stratified resamples: both classes are drawn with replacement, each to its own size.

    A resample only decides how many samples fall into each step of the curve, which is a multinomial draw. Nothing
    is sorted, and the cost does not depend on the number of samples of the commoner class.

    Args:
        cells: The steps of the ROC curve.
        statistic: What to compute.
        n_resamples: Number of resamples.
        seed: The same seed gives the same resamples.
        region: The part of the curve that the statistic looks at; None means the whole.

    Returns:
        The statistic of each resample, shape ``(n_resamples,)``.
    """
    cells = _within_reach(cells, region or Region())
    positives, negatives = Urn(cells.positives), Urn(cells.negatives)
    rng = np.random.default_rng(seed)
    values = [
        statistic(positives.draw(rng, count), negatives.draw(rng, count))
        for count in _portions(n_resamples, len(cells.positives))
    ]
    return np.concatenate(values)


def resampled_together(
    curves: Sequence[Cells],
    is_positive: NDArray[np.bool_],
    groups: NDArray[Any] | None,
    statistic: JointStatistic,
    n_resamples: int,
    seed: int,
    region: Region | None = None,
) -> NDArray[np.float64]:
    """Compute a statistic of several ROC curves of the same samples, on the same resamples for all of them.

    What is drawn as a whole is a unit: a group, or the samples of a class that share their step on every curve. A
    resample says how often each unit is drawn, and a sparse matrix turns that into the counts of a curve's steps.

    Args:
        curves: The steps of each curve.
        is_positive: Which samples are positives, shape ``(samples,)``.
        groups: Draw whole groups instead of samples: the group of each sample, shape ``(samples,)``. The classes then
            vary in size. None draws samples, each class to its own size.
        statistic: Maps the positives and negatives per step of each curve to a number for each resample.
        n_resamples: Number of resamples.
        seed: The same seed gives the same resamples.
        region: The part of the curves that the statistic looks at; None means the whole.

    Returns:
        The statistic of each resample, shape ``(n_resamples,)``.
    """
    group_of = None if groups is None else np.unique(groups, return_inverse=True)[1]
    region = region or Region()
    if group_of is None:
        curves = [_within_reach(cells, region) for cells in curves]
    else:
        curves = [_within_reach_of_groups(cells, is_positive, group_of, region) for cells in curves]
    members = [np.flatnonzero(is_positive), np.flatnonzero(~is_positive)]
    if group_of is None:
        joined = [_join(curves, own) for own in members]
        members, urns = [own for own, _ in joined], [Urn(sizes) for _, sizes in joined]
        unit_of = [np.arange(len(own)) for own in members]
    else:
        urns = [Urn(np.ones(int(group_of.max()) + 1, np.int64))]
        unit_of = [group_of[own] for own in members]
    matrices = [
        [
            _counts_by_unit(cells.step_of[own], len(cells.positives), units, urn.n_cells)
            for own, units, urn in zip(members, unit_of, (urns[0], urns[-1]), strict=True)
        ]
        for cells in curves
    ]
    effort = max(*(urn.n_cells for urn in urns), *(len(cells.positives) for cells in curves))
    rng = np.random.default_rng(seed)
    values = []
    for count in _portions(n_resamples, effort):
        drawn = [np.ascontiguousarray(urn.draw(rng, count).T) for urn in urns]
        counts = [
            (_rows(positives @ drawn[0]), _rows(negatives @ drawn[-1])) for positives, negatives in matrices
        ]
        values.append(statistic(counts))
    return np.concatenate(values)


def _portions(total: int, numbers: int) -> Iterator[int]:
    """Split the resamples, of so many numbers each, into portions that fit into the cache."""
    size = max(1, _NUMBERS_AT_ONCE // numbers)
    for start in range(0, total, size):
        yield min(size, total - start)


def _within_reach(cells: Cells, region: Region) -> Cells:
    """Join the steps that are outside the region in every resample.

    A resample has on average as many of the highest samples as the sample itself, and varies by about their root.
    """
    kept, _, last = region.counts(int(cells.positives.sum()), int(cells.negatives.sum()))
    below = int(cells.positives.sum()) - kept
    beyond = int(last + _margin(last))
    start = int(np.searchsorted(np.cumsum(cells.positives), below - _margin(below), side="right"))
    end = int(np.searchsorted(np.cumsum(cells.negatives), beyond)) + 1
    return cells.between(start, end)


def _margin(count: int) -> float:
    return float(_SAFETY * np.sqrt(count) + _SAFETY**2)


def _within_reach_of_groups(
    cells: Cells, is_positive: NDArray[np.bool_], group_of: NDArray[np.intp], region: Region
) -> Cells:
    """Join the steps that are to the right of the region in every resample of groups."""
    steps, groups = cells.step_of[~is_positive], group_of[~is_positive]
    n_groups = int(group_of.max()) + 1
    of_group = np.bincount(groups, minlength=n_groups)
    cumulative = np.cumsum(cells.negatives)
    margin = _SAFETY**2
    while (wanted := select_count(len(groups), region.max_fpr) + margin) < len(groups):
        # The region ends within the first steps if they hold more than a share max_fpr of the resample's negatives.
        # How many more is a sum over the groups that are drawn, whose mean and variance are known.
        end = int(np.searchsorted(cumulative, wanted)) + 1
        surplus = np.bincount(groups[steps < end], minlength=n_groups) - region.max_fpr * of_group
        if surplus.sum() > _SAFETY * np.sqrt(np.square(surplus).sum()):
            return cells.between(0, end)
        margin *= 2
    return cells


def _join(curves: Sequence[Cells], members: NDArray[np.intp]) -> tuple[NDArray[np.intp], Counts]:
    """Join the members that share their step on every curve: one of each such set, and the sizes of the sets."""
    keys = np.zeros(len(members), np.int64)
    for cells in curves:
        keys = keys * len(cells.positives) + cells.step_of[members]
    _, firsts, sizes = np.unique(keys, return_index=True, return_counts=True)
    return members[firsts], sizes


def _counts_by_unit(steps: NDArray[np.intp], n_steps: int, units: NDArray[np.intp], n_units: int) -> Any:
    """How many samples of each unit are in each step: a sparse matrix of shape ``(steps, units)``."""
    from scipy.sparse import coo_array  # slow to import

    return coo_array((np.ones(len(steps), np.int64), (steps, units)), (n_steps, n_units)).tocsr()


def _rows(columns: Counts) -> Counts:
    """From counts of shape ``(steps, resamples)`` to ``(resamples, steps)``."""
    return np.ascontiguousarray(columns.T)
