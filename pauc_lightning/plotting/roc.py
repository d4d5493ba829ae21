"""ROC curves with the region of interest shaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from torch import Tensor

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.region import Region

# Okabe and Ito's palette, told apart with every common colour blindness; dashes repeat it in print.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_DASHES = ("-", "--", "-.", ":")
_REGION_COLOUR = "#E8ECF1"
_EDGE_COLOUR = "#6B7785"
_ZOOM_BELOW = 0.4
_POINTS_PER_AXIS = 1000


@dataclass(frozen=True)
class RocCurve:
    """The corners of a ROC curve from (0, 0) to (1, 1), joined by straight lines.

    Scores that tie are one threshold, hence one point: a tie between the classes is a slanted line, and the metric
    counts what lies under it in the region (``ties="roc"``).

    Args:
        fpr: False-positive rates in ascending order, shape (points,).
        tpr: True-positive rates in ascending order, shape (points,).
    """

    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]

    @classmethod
    def from_scores(cls, scores: Tensor, target: Tensor) -> RocCurve:
        """The curve through every distinct score; ``target`` holds 0 and 1.

        Example:
            >>> curve = RocCurve.from_scores(torch.tensor([0.9, 0.5, 0.5, 0.1]), torch.tensor([1, 1, 0, 0]))
            >>> curve.fpr.tolist(), curve.tpr.tolist()
            ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
        """
        values = scores.detach().flatten().double().cpu().numpy()
        is_positive = target.detach().flatten().cpu().numpy() == 1
        distinct = np.unique(values)

        def counts(of_class: NDArray[np.float64]) -> Tensor:
            edges = np.append(np.searchsorted(np.sort(of_class), distinct), of_class.size)
            return torch.from_numpy(np.diff(edges))

        return cls.from_counts(counts(values[is_positive]), counts(values[~is_positive]))

    @classmethod
    def from_counts(cls, pos_counts: Tensor, neg_counts: Tensor) -> RocCurve:
        """The curve from the number of positives and of negatives per bin, bins in ascending order of score."""

        def rates(counts: Tensor, name: str) -> NDArray[np.float64]:
            total = int(counts.sum())
            if total == 0:
                raise InputError(f"`target` must contain both classes to draw a ROC curve, got no {name}.")
            return np.append(0.0, counts.flip(0).cumsum(0).cpu().numpy() / total)

        return cls(rates(neg_counts, "negative"), rates(pos_counts, "positive"))

    def thinned(self, region: Region) -> RocCurve:
        """At most a few thousand of the points, no more than a pixel away from the curve, region included."""
        steps = np.linspace(0.0, 1.0, _POINTS_PER_AXIS)
        fpr_steps = np.concatenate([steps, region.min_fpr + steps * (region.max_fpr - region.min_fpr)])
        tpr_steps = np.concatenate([steps, region.min_tpr + steps * (1.0 - region.min_tpr)])
        last = self.fpr.size - 1
        if last < fpr_steps.size + tpr_steps.size:
            return self
        picked = np.unique(
            np.concatenate([[0, last], self.fpr.searchsorted(fpr_steps), self.tpr.searchsorted(tpr_steps)])
        ).clip(max=last)
        return RocCurve(self.fpr[picked], self.tpr[picked])

    def clipped(self, low: float, high: float) -> RocCurve:
        """The part with false-positive rates in ``[low, high]``, with interpolated ends."""
        inside = (self.fpr > low) & (self.fpr <= high)
        ends = np.interp([low, high], self.fpr, self.tpr)  # the highest of several points above one another
        fpr = np.concatenate([[low], self.fpr[inside], [high]])
        return RocCurve(fpr, np.concatenate([ends[:1], self.tpr[inside], ends[1:]]))


def plot_roc(
    scores: Tensor, target: Tensor, region: Region, name: str = "model", title: str | None = None
) -> Figure:
    """Draw one ROC curve; the area that counts is filled and its partial AUC stands in the title.

    The value is the filled area over the region's, up to the rounding of the region's edges to whole samples.

    Args:
        scores: Scores, shape (samples,).
        target: Labels 0 and 1, shape (samples,).
        region: The region to shade.
        name: What to call the curve in the legend.
        title: Replaces the region and its value.
    """
    value = _value(scores, target, region)
    figure = _new_figure()
    draw_roc(
        {name: RocCurve.from_scores(scores, target)},
        region,
        title=f"{region.title} = {value:.4f}" if title is None else title,
        ax=figure.add_subplot(),
    )
    return figure


def plot_roc_curves(
    samples: Mapping[str, tuple[Tensor, Tensor]], region: Region, title: str | None = None
) -> Figure:
    """Draw several ROC curves in one figure, each with its partial AUC in the legend.

    Args:
        samples: Scores and labels of each curve by the name of the curve; every one its own samples.
        region: The region to shade.
        title: Replaces the region's name.
    """
    figure = _new_figure()
    curves = {
        f"{name} ({_value(scores, target, region):.4f})": RocCurve.from_scores(scores, target)
        for name, (scores, target) in samples.items()
    }
    draw_roc(curves, region, title=title, ax=figure.add_subplot())
    return figure


def draw_roc(
    curves: Mapping[str, RocCurve], region: Region, title: str | None = None, ax: Axes | None = None
) -> tuple[Figure | SubFigure, Axes]:
    """Draw curves over the shaded region, with the region enlarged in an inset where it is narrow.

    Args:
        curves: The curves by their text in the legend.
        region: The region to shade; under a single curve, the part of it that counts is filled.
        title: The title; None names the region.
        ax: Axes to draw into; None makes a new figure.

    Returns:
        The figure and the axes.
    """
    if ax is None:
        ax = _new_figure().add_subplot()
    curves = {label: curve.thinned(region) for label, curve in curves.items()}
    _draw_layers(ax, curves, region)
    ax.plot(
        [0, 1], [0, 1], color=_EDGE_COLOUR, linewidth=0.8, linestyle=(0, (2, 2)), label="chance", zorder=2
    )
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
    ax.set_xlabel("False-positive rate")
    ax.set_ylabel("True-positive rate")
    ax.set_title(region.title if title is None else title, fontsize="medium")
    _tidy(ax)

    is_narrow = region.max_fpr - region.min_fpr <= _ZOOM_BELOW
    if is_narrow:
        zoom = ax.inset_axes((0.47, 0.11, 0.49, 0.49))
        _draw_layers(zoom, curves, region)
        zoom.set(xlim=(region.min_fpr, region.max_fpr), ylim=(region.min_tpr, 1.0))
        zoom.set_xticks(np.linspace(region.min_fpr, region.max_fpr, 3))
        zoom.set_yticks(np.linspace(region.min_tpr, 1.0, 3))
        zoom.tick_params(labelsize="x-small")
        _tidy(zoom)
        ax.indicate_inset_zoom(zoom, edgecolor=_EDGE_COLOUR, alpha=0.6, linewidth=0.7)
    # The inset sits where the legend would: then the legend goes under the axes.
    if is_narrow or len(curves) > 4:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False, fontsize="small")
    else:
        ax.legend(loc="lower right", frameon=False, fontsize="small")
    return ax.figure, ax


def _draw_layers(ax: Axes, curves: Mapping[str, RocCurve], region: Region) -> None:
    """The region, the area that counts and the curves: what the main axes and the inset share."""
    ax.add_patch(
        Rectangle(
            (region.min_fpr, region.min_tpr),
            region.max_fpr - region.min_fpr,
            1.0 - region.min_tpr,
            facecolor=_REGION_COLOUR,
            edgecolor=_EDGE_COLOUR,
            linewidth=0.8,
            zorder=1,
        )
    )
    if len(curves) == 1:
        (curve,) = curves.values()
        part = curve.clipped(region.min_fpr, region.max_fpr)
        ax.fill_between(
            part.fpr,
            region.min_tpr,
            part.tpr,
            where=part.tpr >= region.min_tpr,
            interpolate=True,
            color=_COLOURS[0],
            alpha=0.3,
            linewidth=0,
            zorder=1.5,
        )
    for index, ((label, curve), colour) in enumerate(zip(curves.items(), cycle(_COLOURS), strict=False)):
        ax.plot(
            curve.fpr,
            curve.tpr,
            color=colour,
            linestyle=_DASHES[index % len(_DASHES)],
            linewidth=1.6,
            label=label,
            zorder=3,
        )


def _tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(length=3, width=0.6)


def _new_figure() -> Figure:
    return Figure(figsize=(4.8, 5.0), dpi=150, layout="constrained")


def _value(scores: Tensor, target: Tensor, region: Region) -> float:
    return float(binary_partial_auc(scores, target, region.max_fpr, region.min_tpr, region.min_fpr))
