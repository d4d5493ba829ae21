"""Results by the value of a setting, as boxes over the seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pauc_lightning.plotting.print_style import COLUMN, PAGE, in_print_style, print_figure
from pauc_lightning.plotting.style import COLOURS, EDGE_COLOUR, tidy

Settings = Mapping[str, Mapping[str, Sequence[float]]]
"""For each setting and each of its values the results, one per seed."""


@in_print_style
def plot_sensitivity(
    settings: Settings, label: str, reference: float | None = None, title: str | None = None
) -> Figure:
    """Draw a panel for each setting and a box for each of its values, with all results as dots.

    A box goes from the lower to the upper quartile, with the median inside; whiskers reach the extremes.

    Args:
        settings: The results.
        label: What they are.
        reference: A value to compare with, drawn as a line through all panels.
        title: The title of the figure.

    Returns:
        A figure of a column's width with up to two panels in a row, or a page's with three, not registered with pyplot.
    """
    columns = min(len(settings), 3)
    rows = -(-len(settings) // columns)
    width = COLUMN if columns < 3 else PAGE
    figure = print_figure(0.3 + 1.45 * rows, width)
    axes = figure.subplots(rows, columns, sharey=True, squeeze=False)
    for ax, (name, by_value) in zip(axes.flat, settings.items(), strict=False):
        if reference is not None:
            ax.axhline(reference, color=EDGE_COLOUR, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1)
        _draw_boxes(ax, by_value)
        ax.set_xlabel(name)
        tidy(ax)
    for ax in list(axes.flat)[len(settings) :]:
        ax.remove()
    figure.supylabel(label, fontsize=axes[0, 0].xaxis.label.get_size())
    if title is not None:
        figure.suptitle(title, fontsize=axes[0, 0].xaxis.label.get_size(), x=0.02, ha="left")
    return figure


def _draw_boxes(ax: Axes, by_value: Mapping[str, Sequence[float]]) -> None:
    line = {"color": COLOURS[0], "linewidth": 0.8}
    ax.boxplot(
        list(by_value.values()),
        tick_labels=list(by_value),
        whis=(0, 100),
        showfliers=False,
        widths=0.55,
        patch_artist=True,
        boxprops={"facecolor": "#DCEAF5", "edgecolor": COLOURS[0], "linewidth": 0.8},
        medianprops={"color": COLOURS[1], "linewidth": 1.4},
        whiskerprops=line,
        capprops=line,
    )
    for number, values in enumerate(by_value.values(), start=1):
        # Dots beside each other: equal results stay visible.
        offsets = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else [0.0]
        ax.plot(number + np.asarray(offsets), values, "o", color="black", markersize=1.6, zorder=4)
