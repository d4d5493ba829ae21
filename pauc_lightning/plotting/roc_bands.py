"""ROC curves of several methods inside the region, at a column's width."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pauc_lightning.plotting.bands import draw_band
from pauc_lightning.plotting.direct_labels import LineEnd, label_line_ends
from pauc_lightning.plotting.fitting import set_title
from pauc_lightning.plotting.methods import MethodCurves, on_common_rates
from pauc_lightning.plotting.print_style import in_print_style, print_figure
from pauc_lightning.plotting.style import EDGE_COLOUR, line_style, shade, tidy
from pauc_lightning.region import Region

Methods = Mapping[str, MethodCurves]


@in_print_style
def plot_roc_bands(panels: Mapping[str, tuple[Region, Methods]]) -> Figure:
    """Draw a panel for each title: the region, enlarged, and in a corner the whole plane.

    A line is the mean over the seeds of the true-positive rate at each false-positive rate; the band around it covers
    all seeds. The labels show the mean of the partial AUC ± its standard deviation over the seeds.

    Args:
        panels: For each title the region and the curves by the name of the method. A method has the same colour in all
            panels.

    Returns:
        A figure of a column's width, not registered with pyplot; a notebook shows it.
    """
    names = list(dict.fromkeys(name for _, methods in panels.values() for name in methods))
    figure = print_figure(0.2 + 2.3 * len(panels))
    axes = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    ends = [
        _draw(ax, title, region, methods, names)
        for ax, (title, (region, methods)) in zip(axes, panels.items(), strict=True)
    ]
    for ax, of_panel in zip(axes, ends, strict=True):
        label_line_ends(ax, of_panel)
    return figure


def _draw(ax: Axes, title: str, region: Region, methods: Methods, names: list[str]) -> list[LineEnd]:
    ends = []
    lowest = 1.0
    for name, of_method in methods.items():
        look = line_style(names.index(name))
        fpr, tpr = on_common_rates(of_method.curves, region)
        inside = (fpr >= region.min_fpr) & (fpr <= region.max_fpr)
        inside[0] = False  # the point (0, 0), where every curve begins
        last = draw_band(ax, fpr[inside], tpr[:, inside], look)
        lowest = min(lowest, float(tpr[:, inside].min()))
        ends.append(LineEnd(last, name, str(look["color"]), value=_value(of_method.values)))
    bottom = max(region.min_tpr, lowest - 0.02) if not region.is_two_way else region.min_tpr
    ax.set(xlim=(region.min_fpr, region.max_fpr), ylim=(bottom, 1.0))
    ax.set_xlabel("False-positive rate")
    ax.set_ylabel("True-positive rate")
    set_title(ax, title)
    tidy(ax)
    _draw_overview(ax, region, methods, names)
    return ends


def _value(values: Sequence[float]) -> str:
    """The mean, and the standard deviation if there are several."""
    deviation = f"±{statistics.stdev(values):.3f}".replace("±0.", "±.") if len(values) > 1 else ""
    return f"{statistics.mean(values):.3f}{deviation}"


def _draw_overview(ax: Axes, region: Region, methods: Methods, names: list[str]) -> None:
    """Draw the whole plane small, with the region shaded."""
    if region == Region():  # the panel itself is the whole plane
        return
    small = ax.inset_axes((0.62, 0.08, 0.34, 0.34))
    shade(small, region)
    small.plot([0, 1], [0, 1], color=EDGE_COLOUR, linewidth=0.5, linestyle=(0, (2, 2)))
    for name, of_method in methods.items():
        fpr, tpr = on_common_rates(of_method.curves, region)
        look = {**line_style(names.index(name)), "linestyle": "-"}
        small.plot(fpr, tpr.mean(axis=0), linewidth=0.7, **look)
    small.set(xlim=(0, 1), ylim=(0, 1), xticks=[0, 1], yticks=[0, 1])
    small.tick_params(labelsize=5.5, length=1.5, pad=1)
    tidy(small)
