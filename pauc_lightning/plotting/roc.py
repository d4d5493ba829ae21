"""ROC curves with the region of interest shaded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from pauc_lightning.metrics.functional import RocCurve, binary_partial_auc
from pauc_lightning.metrics.functional.inputs import Values
from pauc_lightning.plotting.style import (
    COLOURS,
    EDGE_COLOUR,
    as_typed,
    frame_unit_square,
    line_style,
    new_figure,
    shade,
    tidy,
)
from pauc_lightning.region import Region

_ZOOM_BELOW = 0.4
_SIZE = (4.8, 5.0)


def plot_roc(
    scores: Values, target: Values, region: Region, name: str = "model", title: str | None = None
) -> Figure:
    """Draw one ROC curve, with the area that counts filled and the partial AUC in the title.

    The value is the filled area divided by the region's, up to the rounding of the region's edges to whole samples.

    Args:
        scores: Scores, shape ``(samples,)``.
        target: Labels 0 and 1, shape ``(samples,)``.
        region: The region to shade.
        name: The curve's name in the legend.
        title: Replaces the region and its value.

    Returns:
        A figure that is not registered with pyplot; a notebook shows it.
    """
    value = _value(scores, target, region)
    figure = new_figure(*_SIZE)
    draw_roc(
        {name: RocCurve.from_scores(scores, target)},
        region,
        title=f"{region.title} = {value:.4f}" if title is None else title,
        ax=figure.add_subplot(),
    )
    return figure


def plot_roc_curves(
    samples: Mapping[str, tuple[Values, Values]], region: Region, title: str | None = None
) -> Figure:
    """Draw several ROC curves in one figure, each with its partial AUC in the legend.

    Args:
        samples: Scores and labels by the name of the curve; the curves may have different samples.
        region: The region to shade.
        title: Replaces the region's name.

    Returns:
        A figure that is not registered with pyplot; a notebook shows it.
    """
    figure = new_figure(*_SIZE)
    curves = {
        f"{name} ({_value(scores, target, region):.4f})": RocCurve.from_scores(scores, target)
        for name, (scores, target) in samples.items()
    }
    draw_roc(curves, region, title=title, ax=figure.add_subplot())
    return figure


def draw_roc(
    curves: Mapping[str, RocCurve], region: Region, title: str | None = None, ax: Axes | None = None
) -> tuple[Figure | SubFigure, Axes]:
    """Draw curves over the shaded region, and enlarge a narrow region in an inset.

    Args:
        curves: The curves by their text in the legend.
        region: The region to shade; under a single curve, the area inside the region is filled.
        title: The title; None names the region.
        ax: Axes to draw into; None makes a new figure.

    Returns:
        The figure and the axes.
    """
    if ax is None:
        ax = new_figure(*_SIZE).add_subplot()
    curves = {label: curve.thinned(region) for label, curve in curves.items()}
    _draw_layers(ax, curves, region)
    frame_unit_square(ax)
    ax.set_title(region.title if title is None else title, fontsize="medium")

    is_narrow = region.max_fpr - region.min_fpr <= _ZOOM_BELOW
    if is_narrow:
        zoom = ax.inset_axes((0.47, 0.11, 0.49, 0.49))
        _draw_layers(zoom, curves, region)
        zoom.set(xlim=(region.min_fpr, region.max_fpr), ylim=(region.min_tpr, 1.0))
        zoom.set_xticks(np.linspace(region.min_fpr, region.max_fpr, 3))
        zoom.set_yticks(np.linspace(region.min_tpr, 1.0, 3))
        zoom.tick_params(labelsize="x-small")
        tidy(zoom)
        ax.indicate_inset_zoom(zoom, edgecolor=EDGE_COLOUR, alpha=0.6, linewidth=0.7)
    # The inset takes the legend's usual place.
    if is_narrow or len(curves) > 4:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False, fontsize="small")
    else:
        ax.legend(loc="lower right", frameon=False, fontsize="small")
    return ax.figure, ax


def _draw_layers(ax: Axes, curves: Mapping[str, RocCurve], region: Region) -> None:
    """Draw the region, the area that counts and the curves, which the main axes and the inset have in common."""
    shade(ax, region)
    if len(curves) == 1:
        (curve,) = curves.values()
        part = curve.clipped(region.min_fpr, region.max_fpr)
        ax.fill_between(
            part.fpr,
            region.min_tpr,
            part.tpr,
            where=part.tpr >= region.min_tpr,
            interpolate=True,
            color=COLOURS[0],
            alpha=0.3,
            linewidth=0,
            zorder=1.5,
        )
    for index, (label, curve) in enumerate(curves.items()):
        ax.plot(curve.fpr, curve.tpr, linewidth=1.6, label=as_typed(label), zorder=3, **line_style(index))


def _value(scores: Values, target: Values, region: Region) -> float:
    return float(binary_partial_auc(scores, target, region.max_fpr, region.min_tpr, region.min_fpr))
