"""The variables of PAUCI's and UPAUCI's objective during training, beside their optima."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from pauc_lightning.plotting.bands import Numbers, draw_band
from pauc_lightning.plotting.direct_labels import LineEnd, label_line_ends
from pauc_lightning.plotting.fitting import set_title
from pauc_lightning.plotting.print_style import SMALL, in_print_style, print_figure
from pauc_lightning.plotting.style import COLOURS, EDGE_COLOUR, tidy

LETTERS = {"a": "a", "b": "b", "gamma": "γ", "s_neg": "s′", "s_pos": "s"}
"""The paper's letters."""
_GROUPS = (("a", "b"), ("gamma",), ("s_neg", "s_pos"))
"""Variables that share a panel, because they are on the same scale."""
KINDS = {"end": "trained", "saddle": "saddle point", "exact": "exact selection"}
_DASHES: dict[str, Literal["-", "--", ":"]] = {"end": "-", "saddle": "--", "exact": ":"}


@dataclass(frozen=True)
class Trajectory:
    """A variable during training.

    Args:
        epochs: Numbers of finished epochs, shape ``(points,)``.
        values: For each of :data:`KINDS` one row per seed, shape ``(seeds, points)``.
    """

    epochs: Numbers
    values: Mapping[str, Sequence[Numbers]]


@in_print_style
def plot_variables(panels: Mapping[str, Mapping[str, Trajectory]]) -> Figure:
    """Draw the variables of each method, those on one scale in one panel.

    Solid lines are the variables as they were trained, with a band over the seeds. Dashed lines are the saddle point of
    the objective for the scores at that moment, and dotted ones that of the objective with exact selection, which has a
    closed form.

    Args:
        panels: For each title, such as a method's name, the variables by name.

    Returns:
        A figure of a column's width, not registered with pyplot; a notebook shows it.
    """
    rows = [
        (title, variables, [name for name in group if name in variables])
        for title, variables in panels.items()
        for group in _GROUPS
        if any(name in variables for name in group)
    ]
    figure = print_figure(0.45 + 1.15 * len(rows))
    axes = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
    ends = []
    for number, (ax, (title, variables, names)) in enumerate(zip(axes, rows, strict=True)):
        ends.append(_draw(ax, variables, names))
        if number == 0 or rows[number - 1][0] != title:
            set_title(ax, title)
    axes[-1].set_xlabel("Epochs")
    axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    handles = [
        Line2D([], [], color=EDGE_COLOUR, linestyle=_DASHES[kind], label=name) for kind, name in KINDS.items()
    ]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=3, frameon=False, fontsize=SMALL, handlelength=2.2
    )
    for ax, of_panel in zip(axes, ends, strict=True):
        label_line_ends(ax, of_panel, size=8)
    return figure


def _draw(ax: Axes, variables: Mapping[str, Trajectory], names: Sequence[str]) -> list[LineEnd]:
    ends = []
    for number, name in enumerate(names):
        trajectory = variables[name]
        colour = COLOURS[number]
        for kind, dashes in _DASHES.items():
            lines = trajectory.values[kind]
            if kind == "end":
                last = draw_band(ax, trajectory.epochs, lines, {"color": colour, "linestyle": dashes})
                ends.append(LineEnd(last, LETTERS[name], colour))
            else:
                mean = sum(lines[1:], start=lines[0]) / len(lines)
                ax.plot(trajectory.epochs, mean, color=colour, linestyle=dashes, linewidth=0.9, zorder=4)
    ax.set_xlim(float(variables[names[0]].epochs[0]), float(variables[names[0]].epochs[-1]))
    tidy(ax)
    return ends
