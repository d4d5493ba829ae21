"""Time against size on logarithmic axes: the figure of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from pauc_lightning.plotting.direct_labels import LineEnd, label_line_ends
from pauc_lightning.plotting.print_style import SMALL, in_print_style, print_figure
from pauc_lightning.plotting.style import COLOURS, DASHES, EDGE_COLOUR, tidy

Lines = Mapping[str, Sequence[tuple[int, float]]]
"""For each contender its sizes and times in seconds."""


@in_print_style
def plot_timing(panels: Mapping[str, Lines]) -> Figure:
    """Draw a panel for each title and a line for each contender; its slope is the exponent of its cost.

    Contenders whose names differ only after a bracket have the same colour: ``SOPA`` and ``SOPA (LibAUC)``. Grey lines
    show a cost that grows like the size and like its square.

    Args:
        panels: For each title the contenders' sizes, ascending, and times in seconds.

    Returns:
        A figure of a column's width, not registered with pyplot; a notebook shows it.
    """
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    looks = _looks(names)
    figure = print_figure(0.3 + 2.0 * len(panels))
    axes = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for ax, (title, lines) in zip(axes, panels.items(), strict=True):
        for name, points in lines.items():
            sizes, seconds = zip(*points, strict=True)
            colour, dashes = looks[name]
            ax.plot(sizes, [1e3 * s for s in seconds], marker=".", color=colour, linestyle=dashes)
        ax.set_title(title, loc="left")
    _scale(axes[0], sorted({n for lines in panels.values() for points in lines.values() for n, _ in points}))
    axes[-1].set_xlabel("Positives in the batch (as many negatives)", loc="left")
    for ax, lines in zip(axes, panels.values(), strict=True):
        _draw_guides(ax, lines)
        ax.set_ylabel("Loss and gradient [ms]")
        tidy(ax)
    for ax, lines in zip(axes, panels.values(), strict=True):
        ends = [LineEnd(1e3 * lines[name][-1][1], name, looks[name][0], lines[name][-1][0]) for name in lines]
        label_line_ends(ax, ends)
    return figure


def _looks(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The colour of each contender's family, and the dashes of its place in it."""
    families: dict[str, list[str]] = {}
    for name in names:
        families.setdefault(name.partition(" (")[0], []).append(name)
    return {
        name: (COLOURS[number % len(COLOURS)], DASHES[place % len(DASHES)])
        for number, members in enumerate(families.values())
        for place, name in enumerate(members)
    }


def _scale(ax: Axes, sizes: Sequence[int]) -> None:
    """Make both axes logarithmic, with the sizes themselves as ticks: every second one if they are many."""
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.xaxis.set_major_locator(FixedLocator(sizes if len(sizes) < 6 else sizes[::2]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:.0f}"))


def _draw_guides(ax: Axes, lines: Lines) -> None:
    sizes = sorted({n for points in lines.values() for n, _ in points})
    base = 1e3 * min(s for points in lines.values() for _, s in points)
    top = ax.get_ylim()[1]
    for exponent, name, offset, side in ((1, "~ n", (3, -8), "left"), (2, "~ n²", (-2, 3), "right")):
        guide = [(n, base * (n / sizes[0]) ** exponent) for n in sizes]
        ax.plot(*zip(*guide, strict=True), color=EDGE_COLOUR, linewidth=0.6, linestyle=(0, (1, 3)), zorder=1)
        away_from_labels = guide[:-2] or guide  # those of the losses are at the right edge
        x, y = [point for point in away_from_labels if point[1] < top / 3][-1]
        ax.annotate(
            name,
            (x, y),
            xytext=offset,
            textcoords="offset points",
            color=EDGE_COLOUR,
            fontsize=SMALL,
            ha=side,
        )
    ax.set_ylim(top=top)
