"""ROC curves of several methods and seeds: the figure of a comparison."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from pauc_lightning.metrics.functional import RocCurve
from pauc_lightning.plotting.style import as_typed, frame_unit_square, line_style, new_figure, shade, tidy
from pauc_lightning.region import Region

_STEPS = 400


@dataclass(frozen=True)
class MethodCurves:
    """The curves of one method in one region.

    Args:
        curves: One ROC curve per seed.
        values: The partial AUC of each of them.
    """

    curves: Sequence[RocCurve]
    values: Sequence[float]

    @property
    def summary(self) -> str:
        """The mean and the standard deviation over the seeds; one seed has no deviation."""
        deviation = f" ± {statistics.stdev(self.values):.4f}" if len(self.values) > 1 else ""
        return f"{statistics.mean(self.values):.4f}{deviation}"


def plot_methods(panels: Mapping[Region, Mapping[str, MethodCurves]], title: str | None = None) -> Figure:
    """Draw a panel for each region: all curves on the left, the region enlarged on the right.

    A line is the mean over the seeds of the true-positive rate at each false-positive rate; the band around it covers
    all seeds. The legend shows the mean and standard deviation of the partial AUC.

    Args:
        panels: For each region, the curves by the name of the method. A method has the same colour in all panels.
        title: The title of the figure.

    Returns:
        A figure that is not registered with pyplot; a notebook shows it.
    """
    names = list(dict.fromkeys(name for methods in panels.values() for name in methods))
    styles = {name: index for index, name in enumerate(names)}
    figure = new_figure(9.6, 3.9 * max(1, len(panels)) + (0.3 if title else 0.0))
    if title is not None:
        figure.suptitle(as_typed(title))
    rows = figure.subfigures(max(1, len(panels)), 1, squeeze=False)[:, 0]
    for row, (region, methods) in zip(rows, panels.items(), strict=False):
        _draw_panel(row, region, methods, styles)
    return figure


def _draw_panel(
    panel: SubFigure, region: Region, methods: Mapping[str, MethodCurves], styles: Mapping[str, int]
) -> None:
    panel.suptitle(region.title, fontsize="medium")
    whole, zoom = panel.subplots(1, 2)
    _draw_methods(whole, region, methods, styles)
    frame_unit_square(whole)
    if region == Region():  # there is nothing to enlarge
        zoom.remove()
    else:
        _draw_methods(zoom, region, methods, styles)
        zoom.set(xlim=(region.min_fpr, region.max_fpr), ylim=(region.min_tpr, 1.0))
        zoom.set_xlabel("False-positive rate (the region only)")
        tidy(zoom)
    handles, labels = whole.get_legend_handles_labels()
    panel.legend(handles, labels, loc="outside right upper", frameon=False, fontsize="small")


def _draw_methods(
    ax: Axes, region: Region, methods: Mapping[str, MethodCurves], styles: Mapping[str, int]
) -> None:
    shade(ax, region)
    for name, of_method in methods.items():
        _draw_method(ax, f"{name}  {of_method.summary}", of_method, region, styles[name])


def _draw_method(ax: Axes, label: str, of_method: MethodCurves, region: Region, style: int) -> None:
    fpr, tpr = on_common_rates(of_method.curves, region)
    look = line_style(style)
    ax.plot(fpr, tpr.mean(0), linewidth=1.6, label=as_typed(label), zorder=3, **look)
    if len(tpr) > 1:
        ax.fill_between(fpr, tpr.min(0), tpr.max(0), color=look["color"], alpha=0.15, linewidth=0, zorder=2.5)


def on_common_rates(
    curves: Sequence[RocCurve], region: Region
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return common false-positive rates, finer in the region, and the true-positive rates, shape (curves, rates)."""
    steps = np.linspace(0.0, 1.0, _STEPS + 1)
    fpr = np.unique(np.concatenate([steps, region.min_fpr + steps * (region.max_fpr - region.min_fpr)]))
    tpr = np.stack([curve.tpr_at(fpr) for curve in curves])
    # Every curve begins at (0, 0), however steep it is.
    return np.concatenate([[0.0], fpr]), np.concatenate([np.zeros((len(curves), 1)), tpr], axis=1)
