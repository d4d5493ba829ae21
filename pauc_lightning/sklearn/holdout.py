"""Samples set aside from training: some of both classes to choose the epoch, some negatives to choose the threshold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.region import Region

FEWEST_LEFT = 2
"""Fewer samples of a class are not split: training needs them."""


class Holdout(NamedTuple):
    """Positions of the samples, disjoint and sorted.

    Attributes:
        train: Samples to train on.
        validation: Samples of both classes that choose the epoch; empty if the region would select none of a class.
        threshold: Negatives that choose the threshold; empty unless asked for.
    """

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    threshold: NDArray[np.int64]


def hold_out(
    target: NDArray[np.bool_],
    fraction: float,
    region: Region,
    random: np.random.RandomState,
    *,
    with_threshold: bool,
) -> Holdout:
    """Set aside a share of each class for validation and, if asked for, as many negatives for the threshold.

    The threshold has negatives of its own: those that chose the epoch have been looked at, and a guarantee needs
    samples that have not. It needs no positives, which are rare.

    Args:
        target: True for positives, shape ``(n,)``.
        fraction: The share of each class.
        region: The region; without a sample of both classes in it nothing is held out for validation.
        random: Decides which samples are taken.
        with_threshold: Whether to set aside negatives for the threshold.

    Example:
        >>> target = np.arange(100) < 20
        >>> split = hold_out(target, 0.2, Region(0.3), np.random.RandomState(0), with_threshold=True)
        >>> [(int(target[part].sum()), int((~target[part]).sum())) for part in split]
        [(16, 48), (4, 16), (0, 16)]
    """
    positives, negatives = (random.permutation(np.flatnonzero(target == kind)) for kind in (True, False))
    n_pos, n_neg = (round(fraction * len(members)) for members in (positives, negatives))
    threshold = negatives[:n_neg] if with_threshold else negatives[:0]
    negatives = negatives[len(threshold) :]
    if not can_validate(region, n_pos, n_neg, len(positives) - n_pos, len(negatives) - n_neg):
        n_pos = n_neg = 0
    return Holdout(
        train=np.sort(np.concatenate([positives[n_pos:], negatives[n_neg:]])),
        validation=np.sort(np.concatenate([positives[:n_pos], negatives[:n_neg]])),
        threshold=np.sort(threshold),
    )


def can_validate(region: Region, n_pos: int, n_neg: int, left_pos: int, left_neg: int) -> bool:
    """Return whether the region selects samples of both classes, and enough are left to train on."""
    selected_pos, _, selected_neg = region.counts(n_pos, n_neg)
    return min(selected_pos, selected_neg) >= 1 and min(left_pos, left_neg) >= FEWEST_LEFT
