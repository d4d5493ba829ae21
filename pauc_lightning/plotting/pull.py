"""How strongly losses pull each negative down."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from pauc_lightning.plotting.bands import Numbers
from pauc_lightning.plotting.print_style import PAGE, in_print_style, print_figure
from pauc_lightning.plotting.style import COLOURS, EDGE_COLOUR, REGION_COLOUR, tidy

_COLUMNS = 5


@in_print_style
def plot_pull(curves: Mapping[str, Numbers], max_fpr: float) -> Figure:
    """Draw a small panel for each loss, with the region shaded.

    Args:
        curves: For each loss, by its name, the pull on each negative from the highest score to the lowest, with a mean
            of 1, shape ``(n,)``.
        max_fpr: The region's largest false-positive rate.

    Returns:
        A figure of a page's width, not registered with pyplot; a notebook shows it.
    """
    n_rows = -(-len(curves) // _COLUMNS)
    figure = print_figure(0.3 + 1.25 * n_rows, PAGE)
    axes = np.atleast_1d(figure.subplots(n_rows, _COLUMNS, sharex=True, sharey=True)).ravel()
    for ax, (name, pulls) in zip(axes, curves.items(), strict=False):
        rates = (np.arange(len(pulls)) + 0.5) / len(pulls)
        ax.axvspan(0, max_fpr, color=REGION_COLOUR, linewidth=0, zorder=0)
        ax.axhline(1, color=EDGE_COLOUR, linewidth=0.6, linestyle=(0, (2, 2)), zorder=1)
        ax.fill_between(rates, pulls, color=COLOURS[0], alpha=0.25, linewidth=0)
        ax.plot(rates, pulls, color=COLOURS[0])
        ax.set_title(name)
        tidy(ax)
    for ax in axes[len(curves) :]:
        ax.set_visible(False)
    axes[0].set(xlim=(0, 1), ylim=(0, None), xticks=[0, 0.5, 1])
    figure.supxlabel("Negatives from the highest score to the lowest (false-positive rate)", fontsize=7.5)
    figure.supylabel("Pull", fontsize=7.5)
    return figure
