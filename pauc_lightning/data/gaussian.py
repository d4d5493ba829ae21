"""A mixture of Gaussians with a known partial AUC, which shows whether a method optimises what it claims to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pauc_lightning.arguments import check_integer, check_number
from pauc_lightning.data.base import LongTailDataModule
from pauc_lightning.data.longtail import long_tail_counts
from pauc_lightning.data.source import Source
from pauc_lightning.errors import InputError
from pauc_lightning.region import Region

_PANELS = 64  # of the quadrature
_LARGEST_COMPONENT = 10**8  # points
_TAIL = 9.0  # standard deviations beyond which the density is negligible


class GaussianLT(LongTailDataModule):
    """Points from a mixture of axis-aligned Gaussians; each component is a class.

    By default there are one positive component, many easy negatives and a few hard ones beyond the positives. The
    hard ones turn cross-entropy away from the direction that separates the positives from the easy negatives: its
    linear score is 0.05 below the best one in OPAUC (FPR ≤ 0.1), 0.03 in OPAUC (FPR ≤ 0.3) and 0.13 in TPAUC
    (FPR ≤ 0.3, TPR ≥ 0.7), while the pairwise loss of the region itself comes within 0.001 of the best. That is
    cross-entropy on batches as the data come; on balanced ones it comes within 0.01.
    :meth:`population_partial_auc` computes the exact value of any linear score, :meth:`best_linear` the best score.

    Args:
        positive_classes: Components that are positive; all others are negative.
        means: Mean of each component, one list of coordinates per component.
        stds: Standard deviation of each component along each axis, in the shape of ``means``.
        sizes: Number of points of each component, before the long tail and the split.
        imbalance_ratio: Ratio of the last component's size to the first's, in (0, 1]; null keeps ``sizes``.
        kwargs: Options of every long-tailed data module.
    """

    def __init__(
        self,
        positive_classes: Sequence[int] = (0,),
        means: Sequence[Sequence[float]] = ((2.5, 2.0), (0.0, 0.0), (4.5, 0.5)),
        stds: Sequence[Sequence[float]] = ((0.25, 2.0), (1.0, 2.0), (0.5, 0.5)),
        sizes: Sequence[int] = (3000, 26100, 900),
        imbalance_ratio: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(positive_classes, imbalance_ratio, **kwargs)
        _check_rows("means", means)
        _check_rows("stds", stds, above=0)
        if not isinstance(sizes, Sequence):
            raise InputError(
                f"`sizes` must be a list with the number of points of each component, got {sizes!r}."
            )
        for i, size in enumerate(sizes):
            check_integer(f"sizes[{i}]", size, at_least=1, at_most=_LARGEST_COMPONENT)
        shapes = {name: [len(row) for row in rows] for name, rows in (("means", means), ("stds", stds))}
        if shapes["means"] != shapes["stds"] or len(set(shapes["means"])) != 1 or len(sizes) != len(means):
            raise InputError(
                "`means`, `stds` and `sizes` must describe the same components in the same dimension, got rows of "
                f"length {shapes['means']} and {shapes['stds']}, and {len(sizes)} sizes."
            )
        self.means = torch.tensor(means, dtype=torch.float64)
        self.stds = torch.tensor(stds, dtype=torch.float64)
        self.sizes = tuple(sizes)

    def load_source(self) -> Source:
        """The points as float32 of shape ``(n, d)``, component after component."""
        random = np.random.Generator(np.random.PCG64(self.seed))
        points = [
            mean + std * random.standard_normal((n, len(mean)))
            for mean, std, n in zip(self.means.numpy(), self.stds.numpy(), self.sizes, strict=True)
        ]
        labels = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return Source(torch.from_numpy(np.concatenate(points)).float(), labels)

    def population_partial_auc(self, weight: Tensor, region: Region) -> float:
        """The exact partial AUC of the score ``weight @ x``, in the limit of infinitely many points.

        It is the mean of max(0, TPR − min_tpr) / (1 − min_tpr) over the false-positive rates of the region, which
        the metrics estimate.

        Args:
            weight: Direction of the score, of shape ``(d,)``; its length does not matter.
            region: The region of the ROC curve.
        """
        direction = weight.detach().to("cpu", torch.float64)
        if direction.shape != self.means.shape[1:] or not bool(direction.norm() > 0):
            raise InputError(
                f"`weight` must be a direction in {self.means.shape[1]} dimensions that is not zero, got "
                f"{weight.tolist()}."
            )
        return float(self._partial_aucs((direction / direction.norm()).unsqueeze(0), region))

    def best_linear(self, region: Region) -> tuple[Tensor, float]:
        """The direction with the largest population partial AUC, and that value; for points in two dimensions.

        Args:
            region: The region of the ROC curve.

        Returns:
            The direction, a float64 unit vector of shape ``(2,)``, and its partial AUC.
        """
        if self.means.shape[1] != 2:
            raise InputError(
                f"`best_linear` searches the circle of directions, but the points have {self.means.shape[1]} "
                "dimensions: give `means` and `stds` with two coordinates each."
            )
        centre, radius = 0.0, math.pi
        for _ in range(2):  # the whole circle, then the neighbourhood of the best direction
            angles = centre + torch.linspace(-radius, radius, 721, dtype=torch.float64)
            directions = torch.stack([angles.cos(), angles.sin()], dim=1)
            values = self._partial_aucs(directions, region)
            best = int(values.argmax())
            centre, radius = float(angles[best]), radius / 180
        return directions[best], float(values[best])

    def _partial_aucs(self, directions: Tensor, region: Region) -> Tensor:
        """The partial AUC of each of D unit vectors, of shape ``(D,)``."""
        kept = long_tail_counts(self.sizes, self.imbalance_ratio)
        is_positive = torch.tensor([label in self.positive_ids for label in range(len(kept))])
        means, stds = directions @ self.means.T, (directions.square() @ self.stds.square().T).sqrt()
        positives, negatives = (
            _Mixture(means[:, kind], stds[:, kind], torch.tensor(kept, dtype=torch.float64)[kind])
            for kind in (is_positive, ~is_positive)
        )
        # The thresholds whose rates lie in the region; none where the curve stays below min_tpr.
        lowest = negatives.threshold(region.max_fpr)
        highest = torch.minimum(negatives.threshold(region.min_fpr), positives.threshold(region.min_tpr))
        half = (highest - lowest).clamp(min=0).unsqueeze(1) / 2
        nodes, weights = _quadrature()
        t = lowest.unsqueeze(1) + half * (1 + nodes)
        heights = (positives.rate(t) - region.min_tpr).clamp(min=0) * negatives.density(t)
        return (heights * weights * half).sum(dim=1) / region.size


def _check_rows(name: str, rows: Any, above: float | None = None) -> None:
    """Refuse anything but a list of lists of numbers."""
    are_lists = isinstance(rows, Sequence) and all(
        isinstance(row, Sequence) and not isinstance(row, str) for row in rows
    )
    if not are_lists or len(rows) < 2 or min(len(row) for row in rows) == 0:
        raise InputError(
            f"`{name}` must be a list of coordinates for each of at least two components, got {rows!r}: for example "
            "[[0, 0], [1, 2]]."
        )
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            check_number(f"{name}[{i}][{j}]", value, above=above)


class _Mixture:
    """One-dimensional Gaussian mixtures of scores, one for each of D directions.

    Args:
        means: Means of the components, of shape ``(D, K)``.
        stds: Their standard deviations, of shape ``(D, K)``.
        weights: Their weights up to a factor, of shape ``(K,)``.
    """

    def __init__(self, means: Tensor, stds: Tensor, weights: Tensor) -> None:
        self.means, self.stds, self.weights = means, stds, weights / weights.sum()

    def rate(self, t: Tensor) -> Tensor:
        """The fraction above each threshold, for ``t`` of shape ``(D, T)``."""
        z = (self.means.unsqueeze(1) - t.unsqueeze(2)) / self.stds.unsqueeze(1)
        above: Tensor = torch.special.ndtr(z)
        return above @ self.weights

    def density(self, t: Tensor) -> Tensor:
        """The density at each of ``t``, of shape ``(D, T)``."""
        z = (self.means.unsqueeze(1) - t.unsqueeze(2)) / self.stds.unsqueeze(1)
        return (torch.exp(-z.square() / 2) / (math.sqrt(2 * math.pi) * self.stds.unsqueeze(1))) @ self.weights

    def threshold(self, rate: float) -> Tensor:
        """The threshold above which a fraction ``rate`` lies, by bisection; of shape ``(D,)``."""
        low = (self.means - _TAIL * self.stds).amin(dim=1)
        high = (self.means + _TAIL * self.stds).amax(dim=1)
        for _ in range(60):
            middle = (low + high) / 2
            is_below = self.rate(middle.unsqueeze(1)).squeeze(1) > rate
            low, high = torch.where(is_below, middle, low), torch.where(is_below, high, middle)
        return (low + high) / 2


def _quadrature() -> tuple[Tensor, Tensor]:
    """Nodes and weights of Gauss-Legendre quadrature on [-1, 1], in panels narrow enough for any component."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    centres = (2 * np.arange(_PANELS) + 1) / _PANELS - 1
    panels = (centres[:, None] + nodes / _PANELS).reshape(-1)
    return torch.from_numpy(panels), torch.from_numpy(np.tile(weights / _PANELS, _PANELS))
