"""Time against size on logarithmic axes: the figure of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pauc_lightning.plotting.direct_labels import LineEnd, label_line_ends
from pauc_lightning.plotting.print_style import SMALL, in_print_style, print_figure
from pauc_lightning.plotting.style import EDGE_COLOUR, line_style, tidy

Lines = Mapping[str, Sequence[tuple[int, float]]]
"""For each contender its sizes and times in seconds."""


@in_print_style
def plot_timing(panels: Mapping[str, Lines]) -> Figure:
    """Draw a panel for each title and a line for each contender; its slope is the exponent of its cost.

    Grey lines show the slopes 1 and 2.

    Args:
        panels: For each title the contenders' sizes, ascending, and times in seconds.

    Returns:
        A figure of a column's width, not registered with pyplot; a notebook shows it.
    """
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    figure = print_figure(2.6 * len(panels))
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for ax, (title, lines) in zip(axes, panels.items(), strict=True):
        _draw(ax, lines, names)
        ax.set_title(title)
    axes[-1].set_xlabel("Positives in the batch, and as many negatives")
    for ax, lines in zip(axes, panels.values(), strict=True):
        ends = [LineEnd(1e3 * lines[name][-1][1], name, _colour(names, name)) for name in lines]
        label_line_ends(ax, ends)
    return figure


def _draw(ax: Axes, lines: Lines, names: Sequence[str]) -> None:
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    for name, points in lines.items():
        sizes, seconds = zip(*points, strict=True)
        ax.plot(sizes, [1e3 * s for s in seconds], marker=".", label=name, **line_style(names.index(name)))
    limits = ax.get_ylim()
    sizes = sorted({n for points in lines.values() for n, _ in points})
    base = min(1e3 * s for points in lines.values() for _, s in points)
    for exponent in (1, 2):
        guide = [base * (n / sizes[0]) ** exponent for n in sizes]
        ax.plot(sizes, guide, color=EDGE_COLOUR, linewidth=0.6, linestyle=(0, (1, 3)), zorder=1)
        inside = [(n, y) for n, y in zip(sizes, guide, strict=True) if y < limits[1] / 2]
        ax.annotate(
            f"slope {exponent}", inside[-1], xytext=(-2, 2), textcoords="offset points", color=EDGE_COLOUR,
            fontsize=SMALL, ha="right", va="bottom",
        )
    ax.set_ylim(limits)
    ax.set_ylabel("Loss and gradient [ms]")
    tidy(ax)


def _colour(names: Sequence[str], name: str) -> str:
    return str(line_style(names.index(name))["color"])
