"""Training curves of several methods: how fast and how steadily they get where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pauc_lightning.plotting.bands import Numbers, draw_band
from pauc_lightning.plotting.direct_labels import LineEnd, label_line_ends
from pauc_lightning.plotting.fitting import set_title
from pauc_lightning.plotting.print_style import in_print_style, print_figure
from pauc_lightning.plotting.style import line_style, tidy


@dataclass(frozen=True)
class TrainingCurves:
    """The curves of one method.

    Args:
        epochs: Numbers of finished epochs, shape ``(points,)``; 0 is the model that the method started from.
        values: The partial AUC after each, one row per seed, shape ``(seeds, points)``.
    """

    epochs: Numbers
    values: Sequence[Numbers] | Numbers


@dataclass(frozen=True)
class ConvergencePanel:
    """A panel of the figure.

    Args:
        title: Its title.
        label: What the vertical axis shows.
        methods: The curves by the methods' names.
    """

    title: str
    label: str
    methods: Mapping[str, TrainingCurves]


@in_print_style
def plot_convergence(panels: Sequence[ConvergencePanel]) -> Figure:
    """Draw the panels below each other: a line is the mean over the seeds, the band covers all of them.

    Args:
        panels: The panels. A method has the same colour in all of them.

    Returns:
        A figure of a column's width, not registered with pyplot; a notebook shows it.
    """
    names = list(dict.fromkeys(name for panel in panels for name in panel.methods))
    figure = print_figure(0.25 + 1.75 * len(panels))
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    ends = [_draw(ax, panel, names) for ax, panel in zip(axes, panels, strict=True)]
    has_start = any(curves.epochs[0] == 0 for panel in panels for curves in panel.methods.values())
    axes[-1].set_xlabel("Epochs (0: the start)" if has_start else "Epochs")
    for ax, of_panel in zip(axes, ends, strict=True):
        label_line_ends(ax, of_panel)
    return figure


def _draw(ax: Axes, panel: ConvergencePanel, names: Sequence[str]) -> list[LineEnd]:
    ends = []
    for name, curves in panel.methods.items():
        look = line_style(names.index(name))
        last = draw_band(ax, curves.epochs, curves.values, look)
        ends.append(LineEnd(last, name, str(look["color"]), float(curves.epochs[-1])))
    set_title(ax, panel.title)
    ax.set_ylabel(panel.label)
    ax.set_xlim(0, max(float(curves.epochs[-1]) for curves in panel.methods.values()))
    low, high = ax.get_ylim()
    ax.set_ylim(max(low, 0.0), min(high, 1.0))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    tidy(ax)
    return ends
