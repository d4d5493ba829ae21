"""Time against size on logarithmic axes: the figure of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from pauc_lightning.plotting.style import EDGE_COLOUR, line_style, new_figure, tidy


def plot_timing(
    sizes: Sequence[int], seconds: Mapping[str, Sequence[float | None]], title: str | None = None
) -> Figure:
    """Draw one line per contender; on logarithmic axes its slope is the exponent of its cost.

    Grey lines show the slopes 1 and 2.

    Args:
        sizes: The sizes, ascending.
        seconds: For each contender one time per size, in seconds; None where it was not measured.
        title: The title of the figure.

    Returns:
        A figure that is not registered with pyplot; a notebook shows it.
    """
    figure = new_figure(8.4, 4.8)
    ax = figure.subplots()
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    measured = {
        name: [(n, t) for n, t in zip(sizes, times, strict=True) if t is not None]
        for name, times in seconds.items()
    }
    for index, (name, points) in enumerate(measured.items()):
        ax.plot(*zip(*points, strict=True), marker=".", linewidth=1.4, label=name, **line_style(index))
    limits = ax.get_ylim()
    base = min(t for points in measured.values() for _, t in points)
    for exponent in (1, 2):
        guide = [base * (n / sizes[0]) ** exponent for n in sizes]
        ax.plot(sizes, guide, color=EDGE_COLOUR, linewidth=0.7, linestyle=(0, (1, 3)), zorder=1)
        ax.text(sizes[-1], guide[-1], f" slope {exponent}", color=EDGE_COLOUR, fontsize="small", clip_on=True)
    ax.set_ylim(limits)
    ax.set_xlabel("Instances in the batch, half of them positive")
    ax.set_ylabel("Loss and gradient [s]")
    if title is not None:
        ax.set_title(title, fontsize="medium")
    tidy(ax)
    figure.legend(loc="outside right upper", frameon=False, fontsize="small")
    return figure
