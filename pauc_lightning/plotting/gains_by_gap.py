"""Gains over a baseline by its gap between training and validation part: does overfitting foretell the gain?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pauc_lightning.plotting.gains import Gain, Look, handles_of, looks_of, reach_of
from pauc_lightning.plotting.style import EDGE_COLOUR, as_typed, new_figure, tidy

_MARKER = 5.0


@dataclass(frozen=True)
class GainByGap(Gain):
    """A gain with what the baseline shows beforehand.

    Args:
        gap: The baseline's partial AUC on the training part minus that on the validation part.
    """

    gap: float


def plot_gains_by_gap(points: Sequence[GainByGap], baseline: str) -> Figure:
    """Draw a panel for each region, and in it the gain of each method against the baseline's gap.

    A filled marker has an interval that excludes zero, and the name of its data set beside it.

    Args:
        points: What to draw; panels and methods have the order of their first appearance.
        baseline: The name of the method that the gains and the gap refer to.
    """
    panels, methods = (
        list(dict.fromkeys(getattr(point, name) for point in points)) for name in ("panel", "method")
    )
    looks = looks_of(methods)
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    figure = new_figure(0.6 + 3.6 * columns, 0.7 + 2.6 * lines)
    axes = list(figure.subplots(lines, columns, squeeze=False).flat)
    for ax, panel in zip(axes, panels, strict=False):
        _draw(ax, [point for point in points if point.panel == panel], looks)
        ax.set_title(as_typed(panel), fontsize=9, loc="left")
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    baseline = as_typed(baseline)
    figure.supxlabel(f"gap of {baseline}: partial AUC on the training part minus validation part", fontsize=8)
    figure.supylabel(f"gain over {baseline}, 95 % interval", fontsize=8)
    figure.legend(
        handles=handles_of(looks, _MARKER),
        loc="outside upper center",
        ncols=min(len(methods), 4 * columns),
        frameon=False,
        fontsize=8,
    )
    return figure


def _draw(ax: Axes, points: Sequence[GainByGap], looks: Mapping[str, Look]) -> None:
    low, high = reach_of(points)
    ax.axhline(0, color=EDGE_COLOUR, linewidth=0.8, zorder=1)
    for method, look in looks.items():
        colour, marker = look.colour, look.marker
        for point in (point for point in points if point.method == method):
            ends = max(low, point.low), min(high, point.high)
            ax.plot((point.gap, point.gap), ends, color=colour, linewidth=0.8, alpha=0.5, zorder=2)
            face = colour if point.decides else "white"
            ax.plot(
                point.gap,
                point.mean,
                marker=marker,
                color=colour,
                markerfacecolor=face,
                markersize=_MARKER,
                zorder=3,
            )
            if point.decides:
                ax.annotate(
                    as_typed(point.data),
                    (point.gap, point.mean),
                    (5, 2),
                    textcoords="offset points",
                    fontsize=6.5,
                    color=colour,
                )
    ax.set(ylim=(low, high))
    ax.margins(x=0.12)
    signed = FuncFormatter(lambda value, _: f"{value:+.2f}" if value else "0")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))  # all multiples of 0.01
        axis.set_major_formatter(signed)
    ax.tick_params(labelsize=8)
    tidy(ax)
