"""Gains of several comparisons in one figure: panels with rows of their own, packed into columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from pauc_lightning.plotting.fitting import fitted_names, length, wrapped
from pauc_lightning.plotting.gains import (
    ARROWS,
    DOTTED,
    KEPT_START,
    Gain,
    Look,
    draw_gains,
    handles_of,
    looks_of,
    reach_of,
)
from pauc_lightning.plotting.print_style import COLUMN, PAGE, PRINT, in_print_style
from pauc_lightning.plotting.style import EDGE_COLOUR, NotebookFigure, as_typed

_MARKER, _SMALL = 4.2, 7.0
"""Sizes of the markers and of the line below a heading, in points."""
_LINE, _METHOD, _ROW_ROOM = 0.13, 0.115, 0.08
"""Heights of a line of text, of a method in a row, and of the room around them; these and all below are in inches."""
_PAD, _TICKS, _GAP, _EDGE = 0.05, 0.2, 0.1, 0.1
"""Below a heading, for the ticks' labels, between panels below each other, and at the edges of a column."""
_NARROWEST = 1.6
"""Smallest width of a panel."""
_HANDLE = 0.5
"""Width of an entry of the legend, without its text."""
_SMALLEST = 0.05
"""A panel whose gains fill less than this share of the common scale would show little more than one marker."""
_WIDEST, _MOST_LINES = 1.3, 3
"""Width of the name of a row, and the largest number of its lines."""
_MOST, _SLACK = 3, 1.3
"""Columns on a page, and how much longer fewer of them may be."""


@dataclass(frozen=True)
class _Panel:
    """A panel: its heading, the line below it, its gains, and the methods that have one."""

    heading: str
    detail: str
    gains: Sequence[Gain]
    methods: Sequence[str]

    @property
    def data(self) -> list[str]:
        """The rows."""
        return list(dict.fromkeys(gain.data for gain in self.gains))

    @property
    def height(self) -> float:
        """The height of the axes."""
        return len(self.data) * (_METHOD * len(self.methods) + _ROW_ROOM)

    @cached_property
    def rows(self) -> dict[str, str]:
        """What is written for each row: its name, on as many lines as the row is high."""
        lines = int((_METHOD * len(self.methods) + _ROW_ROOM) / _LINE)
        return fitted_names(self.data, _WIDEST, PRINT["ytick.labelsize"], min(max(1, lines), _MOST_LINES))

    def has_rows_of(self, other: _Panel) -> bool:
        """Whether both have the same rows, of the same height."""
        return (self.data, len(self.methods)) == (other.data, len(other.methods))


@in_print_style
def plot_gain_panels(
    gains: Sequence[Gain],
    baseline: str,
    methods: Sequence[str] | None = None,
    columns: int | None = None,
    own_scales: bool = False,
) -> Figure:
    """Draw a panel for each comparison, model and region, a row for each data set, a marker for each method.

    Unlike in :func:`~pauc_lightning.plotting.plot_gains`, every panel has its own rows and a height that fits them. The
    panels fill columns from top to bottom. All have one scale, unless that would draw the gains of a panel on top of
    each other. A filled marker has an interval that excludes zero; a dotted interval belongs to a method that returned
    its start on every seed.

    Args:
        gains: What to draw; panels have the order of their first appearance, and so have the rows of each panel. A
            panel's name is its heading; a second line of it is written smaller.
        baseline: The name of the method that the gains refer to.
        methods: The methods in their order in the legend and in the rows; None for that of their first appearance.
        columns: The largest number of columns; None for up to three, as it fits best.
        own_scales: Whether every panel has a scale of its own.
    """
    looks = looks_of(methods or list(dict.fromkeys(gain.method for gain in gains)))
    panels = _panels_of(gains, list(looks))
    own_scales = own_scales or _one_scale_hides(panels)
    between = _GAP + _TICKS * own_scales
    packed = _packed(panels, columns, _PAD + 2 * _LINE + between)
    width, margins, inner = _widths(packed)
    methods_shown = fitted_names(list(looks), width - _HANDLE - 2 * _EDGE, PRINT["legend.fontsize"])
    named = {methods_shown[name]: look for name, look in looks.items()}
    headings = {id(panel): wrapped(panel.heading, inner, PRINT["axes.titlesize"], "bold") for panel in panels}
    above = _PAD + _LINE * max(1 + headings[id(panel)].count("\n") + bool(panel.detail) for panel in panels)
    depth = max(sum(above + panel.height + between for panel in column) for column in packed) - between
    upper = _LINE * 1.12 * -(-len(looks) // _legend_columns(named, width)) + _PAD
    below = _axis_label(baseline, own_scales, width)
    has_kept = any(gain.kept_start for gain in gains)
    height = upper + depth + _TICKS + _LINE * (2.5 + has_kept + 1.1 * below.count("\n"))
    figure = NotebookFigure(figsize=(width, height), dpi=150)
    common = reach_of(gains)
    for number, column in enumerate(packed):
        left = sum(margins[: number + 1]) + number * (inner + _EDGE)
        bottom = height - upper + between
        for level, panel in enumerate(column):
            bottom -= between + above + panel.height
            ax = figure.add_axes((left / width, bottom / height, inner / width, panel.height / height))
            inside = {name: looks[name] for name in panel.methods}
            reach = reach_of(panel.gains) if own_scales else common
            draw_gains(ax, panel.gains, panel.data, inside, reach, _MARKER, panel.rows)
            _head(ax, headings[id(panel)], panel.detail)
            ax.tick_params(axis="y", length=0, labelleft=_is_named(packed, number, level))
            ax.tick_params(axis="x", labelbottom=own_scales or panel is column[-1])
    _explain(figure, named, below, has_kept)
    return figure


def _head(ax: Axes, heading: str, detail: str) -> None:
    """Write the lines above a panel."""
    pad = 72 * _PAD
    ax.set_title(as_typed(heading), loc="left", pad=pad + (72 * _LINE if detail else 0.0), fontweight="bold")
    ax.annotate(
        detail,
        (0, 1),
        (0, pad),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=_SMALL,
        color=EDGE_COLOUR,
    )


def _panels_of(gains: Sequence[Gain], methods: Sequence[str]) -> list[_Panel]:
    panels = []
    for name in dict.fromkeys(gain.panel for gain in gains):
        inside = [gain for gain in gains if gain.panel == name]
        there = {gain.method for gain in inside}
        heading, _, detail = name.partition("\n")
        panels.append(_Panel(heading, detail, inside, [method for method in methods if method in there]))
    return panels


def _one_scale_hides(panels: Sequence[_Panel]) -> bool:
    """Whether all gains of a panel would lie within about a marker's width; gains of zero are not hidden."""
    low, high = reach_of([gain for panel in panels for gain in panel.gains])
    extents = [
        max(0.0, *(gain.high for gain in panel.gains)) - min(0.0, *(gain.low for gain in panel.gains))
        for panel in panels
    ]
    return any(0 < extent < _SMALLEST * (high - low) for extent in extents)


# ---------------------------------------------------------------------- where panels stand


def _packed(panels: Sequence[_Panel], columns: int | None, extra: float) -> list[list[_Panel]]:
    """Fill columns in the order of the panels, such that the longest column is as short as possible.

    Without a number of columns, there are up to three, but fewer and wider ones if they are hardly longer.
    """
    heights = [panel.height + extra for panel in panels]
    if columns is not None:
        return _shortest(panels, heights, columns)
    ways = [_shortest(panels, heights, number + 1) for number in range(_MOST)]
    lengths = [max(sum(panel.height + extra for panel in column) for column in way) for way in ways]
    return next(way for way, length in zip(ways, lengths, strict=True) if length <= _SLACK * lengths[-1])


def _shortest(panels: Sequence[_Panel], heights: Sequence[float], columns: int) -> list[list[_Panel]]:
    ends = range(len(panels) + 1)
    limits = sorted(sum(heights[first:last]) for first in ends for last in ends if first < last)
    filled = (_filled(panels, heights, limit + 1e-9) for limit in limits if limit >= max(heights))
    return next(packed for packed in filled if len(packed) <= columns)


def _filled(panels: Sequence[_Panel], heights: Sequence[float], limit: float) -> list[list[_Panel]]:
    packed: list[list[_Panel]] = []
    room = 0.0
    for panel, height in zip(panels, heights, strict=True):
        if not packed or height > room:
            packed.append([])
            room = limit
        packed[-1].append(panel)
        room -= height
    return packed


def _is_named(packed: Sequence[Sequence[_Panel]], column: int, level: int) -> bool:
    """Whether a panel names its rows: not if its neighbour on the left has the same rows at the same height."""
    if column == 0 or len(packed[column - 1]) <= level:
        return True
    before, own = (packed[number][: level + 1] for number in (column - 1, column))
    is_level = all(map(_Panel.has_rows_of, own, before))
    return not is_level


def _widths(packed: Sequence[Sequence[_Panel]]) -> tuple[float, list[float], float]:
    """The widths of the figure, of the names left of each column, and of a panel."""
    margins = []
    for number, column in enumerate(packed):
        named = [panel for level, panel in enumerate(column) if _is_named(packed, number, level)]
        widest = max(
            (
                length(line, PRINT["ytick.labelsize"])
                for panel in named
                for text in panel.rows.values()
                for line in text.split("\n")
            ),
            default=0.0,
        )
        margins.append(_EDGE + widest)
    n = len(packed)
    width = COLUMN if n == 1 else PAGE * max(1.0, n / _MOST)
    inner = max(_NARROWEST, (width - sum(margins)) / n - _EDGE)
    return sum(margins) + n * (inner + _EDGE), margins, inner


# ---------------------------------------------------------------------- what markers mean


def _legend_columns(looks: Mapping[str, Look], width: float) -> int:
    widest = max(length(method, PRINT["legend.fontsize"]) for method in looks) + _HANDLE
    return max(1, min(len(looks), int(width / widest)))


def _axis_label(baseline: str, own_scales: bool, width: float) -> str:
    """What is drawn, in lines that fit below the panels."""
    label = f"gain in partial AUC over {baseline}, with its 95 % interval"
    label = as_typed(wrapped(label, width - 2 * _EDGE, PRINT["axes.labelsize"]))
    return f"{label}\nevery panel has a scale of its own" if own_scales else label


def _explain(figure: Figure, looks: Mapping[str, Look], label: str, has_kept: bool) -> None:
    """Name the methods above the panels; say what is drawn, and what its signs mean, below them."""
    width, height = figure.get_size_inches()
    options: dict[str, Any] = {"frameon": False, "borderaxespad": 0.0, "borderpad": 0.2, "handletextpad": 0.5}
    figure.legend(
        handles=handles_of(looks, _MARKER),
        loc="upper center",
        ncols=_legend_columns(looks, width),
        columnspacing=1.6,
        **options,
    )
    figure.text(
        0.5,
        (1.2 + has_kept) * _LINE / height,
        label,
        ha="center",
        va="bottom",
        fontsize=PRINT["axes.labelsize"],
    )
    key = list(_key(figure.axes))
    if has_kept:
        kept = _sign("o", KEPT_START, "white")
        kept.set(linewidth=1.2, linestyle=DOTTED)
        figure.legend(handles=[kept], loc="lower center", **options)
        options["bbox_to_anchor"] = (0.0, _LINE / height, 1.0, 1.0)
    figure.legend(handles=key, loc="lower center", ncols=3, handlelength=1, columnspacing=1.6, **options)


def _key(axes: Sequence[Axes]) -> Iterator[Line2D]:
    yield _sign("o", "interval excludes zero", EDGE_COLOUR)
    yield _sign("o", "includes zero", "white")
    if any(line.get_marker() in ARROWS for ax in axes for line in ax.lines):
        yield _sign(ARROWS[1], "goes on", EDGE_COLOUR)


def _sign(marker: str, label: str, face: str) -> Line2D:
    return Line2D(
        [],
        [],
        linewidth=0,
        color=EDGE_COLOUR,
        marker=marker,
        markersize=_MARKER,
        markerfacecolor=face,
        label=label,
    )
