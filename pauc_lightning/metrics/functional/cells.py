"""The ROC curve as counts of samples per step, which resampling can redraw without sorting again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """The steps of a ROC curve from the highest score down.

    Neighbouring scores of one class form one step, because only the order of the classes matters to the curve: a step
    goes up (positives only), to the right (negatives only), or is a slanted line (a tie between the classes). There
    are at most about twice as many steps as there are samples of the rarer class.

    Args:
        positives: Number of positives in each step, shape ``(steps,)``.
        negatives: Number of negatives in each step, shape ``(steps,)``.
        step_of: The step that each sample belongs to, shape ``(samples,)``.
    """

    positives: Counts
    negatives: Counts
    step_of: NDArray[np.intp]

    @classmethod
    def of(cls, scores: NDArray[Any], is_positive: NDArray[np.bool_]) -> Cells:
        """Sort the samples into steps.

        Example:
            >>> cells = Cells.of(np.array([0.9, 0.8, 0.8, 0.5, 0.4]), np.array([True, True, False, False, False]))
            >>> cells.positives.tolist(), cells.negatives.tolist(), cells.step_of.tolist()
            ([1, 1, 0], [0, 1, 2], [0, 1, 1, 2, 2])
        """
        order = np.argsort(-scores, kind="stable")
        ranked, positive = scores[order], is_positive[order]
        starts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
        n_pos = np.add.reduceat(positive.astype(np.int64), starts)
        n_neg = np.diff(np.append(starts, len(ranked))) - n_pos
        kind = (n_pos > 0) + 2 * (n_neg > 0)
        is_new = np.append(True, (kind[1:] != kind[:-1]) | (kind[1:] == 3))
        firsts = np.flatnonzero(is_new)
        step_of_score = np.cumsum(is_new) - 1
        step_of = np.empty(len(ranked), np.intp)
        step_of[order] = np.repeat(step_of_score, np.diff(np.append(starts, len(ranked))))
        return cls(np.add.reduceat(n_pos, firsts), np.add.reduceat(n_neg, firsts), step_of)

    def between(self, start: int, end: int) -> Cells:
        """Join all steps before number ``start`` into one, and all from number ``end`` on.

        Example:
            >>> cells = Cells.of(np.arange(5, 0, -1), np.array([True, False, True, False, True])).between(2, 4)
            >>> cells.positives.tolist(), cells.negatives.tolist(), cells.step_of.tolist()
            ([1, 1, 0, 1], [1, 0, 1, 0], [0, 0, 1, 2, 3])
        """
        number = np.clip(np.arange(len(self.positives)), max(start - 1, 0), max(start, end))
        number -= number[0]
        firsts = np.flatnonzero(np.diff(number, prepend=-1))
        positives, negatives = (
            np.add.reduceat(counts, firsts) for counts in (self.positives, self.negatives)
        )
        return Cells(positives, negatives, number[self.step_of])


def areas(
    positives: Counts, negatives: Counts, bottom: int | Counts, first: int | Counts, last: int | Counts
) -> NDArray[np.float64]:
    """Compute the area under many ROC curves inside a rectangle, in units of one pair.

    It is ∫ max(0, TP(x) - bottom) dx from ``first`` to ``last``, as in
    :func:`~pauc_lightning.metrics.functional.binary_partial_auc`. The rectangle is the same for all curves, or given
    for each as arrays of shape ``(curves, 1)``.

    Args:
        positives: Number of positives per step, shape ``(curves, steps)``.
        negatives: Number of negatives per step, shape ``(curves, steps)``.
        bottom: Number of positives below the rectangle.
        first: Number of negatives left of the rectangle.
        last: Number of negatives left of the rectangle's right edge.

    Returns:
        The areas, shape ``(curves,)``.

    Example:
        >>> areas(np.array([[1, 1, 0]]), np.array([[0, 1, 2]]), bottom=0, first=0, last=3)
        array([5.5])
    """
    # In place, because with millions of steps fresh memory takes longer than the arithmetic.
    is_slanted = (positives > 0) & (negatives > 0)
    height = np.cumsum(positives, axis=1)
    height -= positives
    height -= bottom
    above = height[is_slanted]
    np.maximum(height, 0, out=height)
    width = np.cumsum(negatives, axis=1)
    start = width - negatives
    before = start[is_slanted]
    np.clip(start, first, last, out=start)
    np.clip(width, first, last, out=width)
    width -= start
    area: NDArray[np.float64] = np.einsum("ij,ij->i", height, width).astype(np.float64)
    if len(above) > 0:
        across = width[is_slanted]
        rise = positives[is_slanted] / negatives[is_slanted]
        low = above + rise * (start[is_slanted] - before)
        high = low + rise * across
        crossing = np.maximum(high, 0) ** 2 / (2 * rise)  # where the line crosses the bottom inside the step
        slanted = np.where(low >= 0, (low + high) / 2 * across, crossing) - height[is_slanted] * across
        area += np.bincount(np.nonzero(is_slanted)[0], slanted, len(area))
    return area


def highest_tpr(positives: Counts, negatives: Counts, most: int | Counts) -> NDArray[np.float64]:
    """Compute the largest share of positives that some threshold finds with at most ``most`` false positives.

    Example:
        >>> highest_tpr(np.array([[1, 1, 0]]), np.array([[0, 1, 2]]), most=0)
        array([0.5])
    """
    right = np.cumsum(negatives, axis=1)
    found = np.where(right <= most, positives, 0).sum(axis=1)
    # A step to the right may be cut at any of its scores, but that finds no more positives.
    result: NDArray[np.float64] = found / positives.sum(axis=1)
    return result
