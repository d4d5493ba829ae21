"""Distributions of the scores in each class, one panel per method, with the region's thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pauc_lightning.errors import InputError
from pauc_lightning.plotting.bands import Numbers
from pauc_lightning.plotting.fitting import LEFT_OF_AXES, fitted_names, length
from pauc_lightning.plotting.print_style import COLUMN, PRINT, SMALL, in_print_style, print_figure
from pauc_lightning.plotting.style import (
    EDGE_COLOUR,
    NEGATIVE_COLOUR,
    POSITIVE_COLOUR,
    REGION_COLOUR,
    as_typed,
    tidy,
)
from pauc_lightning.region import Region

_BINS = 40
_TITLE_LINE = 0.13
"""Height of a second line of a title, in inches."""
_TOP = 1.45
"""Height of a panel, in heights of its tallest bar: words stand above the bars."""


@dataclass(frozen=True)
class ScorePanel:
    """Scores of one model.

    Args:
        score: Sigmoid scores, shape ``(n,)``.
        label: 1 for positives, 0 for negatives, shape ``(n,)``.
        region: The region whose thresholds are drawn.
        value: The partial AUC.
    """

    score: Numbers
    label: NDArray[Any]
    region: Region
    value: float

    @property
    def thresholds(self) -> tuple[float, float]:
        """The range of thresholds whose rates lie in the region.

        The lower end lets the fraction ``max_fpr`` of the negatives through, the upper end ``min_fpr`` of the negatives
        or ``min_tpr`` of the positives, whichever is lower; with neither bound it is 1. The lower end may be above the
        upper one: then no threshold has both rates.
        """
        negatives = np.sort(self.score[self.label == 0])[::-1]
        positives = np.sort(self.score[self.label == 1])[::-1]
        _, first, last = self.region.counts(len(positives), len(negatives))
        if last == 0:
            raise InputError(
                f"The region allows no false positive among {len(negatives)} negatives: raise max_fpr, or test on more."
            )
        upper = 1.0 if first == 0 else float(negatives[first - 1])
        if self.region.is_two_way:
            needed = int(np.ceil(self.region.min_tpr * len(positives) - 1e-9))
            upper = min(upper, float(positives[max(needed, 1) - 1]))
        return float(negatives[last - 1]), upper


@in_print_style
def plot_score_panels(panels: Mapping[str, ScorePanel], bins: int = _BINS) -> Figure:
    """Draw one panel per model: bars upwards are positives, bars downwards negatives, each as share of its class.

    The grey band holds the thresholds of the region; the scores inside decide the partial AUC.

    Args:
        panels: The scores by the name of the panel.
        bins: Number of bars per class over [0, 1].

    Returns:
        A figure of a column's width, not registered with pyplot; a notebook shows it.
    """
    titles = _titles(panels)
    lines = sum(title.count("\n") for title in titles)
    figure = print_figure(0.35 + 1.0 * len(panels) + _TITLE_LINE * lines)
    axes = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for number, (ax, scores, title) in enumerate(zip(axes, panels.values(), titles, strict=True)):
        _draw(ax, scores, bins)
        ax.set_title(title, loc="left")
        if number == 0:
            _name_classes(ax, scores)
    axes[-1].set_xlabel("Score")
    figure.supylabel("Share of the class", fontsize=axes[0].yaxis.label.get_size())
    return figure


def _titles(panels: Mapping[str, ScorePanel]) -> list[str]:
    """Name and partial AUC of each panel: below each other where they do not fit beside each other."""
    room, size = COLUMN - LEFT_OF_AXES, PRINT["axes.titlesize"]
    names = fitted_names(list(panels), room, size)
    titles = []
    for name, scores in panels.items():
        value = f"{scores.region.title} = {scores.value:.3f}"
        beside = f"{name}   {value}"
        titles.append(as_typed(beside if length(beside, size) <= room else f"{names[name]}\n{value}"))
    return titles


def histogram(scores: ScorePanel, bins: int = _BINS) -> tuple[Numbers, Numbers, Numbers]:
    """The edges of the bars, and the shares of the positives and of the negatives in each."""
    edges = np.linspace(0.0, 1.0, bins + 1)
    shares = []
    for label in (1, 0):
        counts, _ = np.histogram(scores.score[scores.label == label], edges)
        shares.append(counts / max(counts.sum(), 1))
    return edges, shares[0], shares[1]


def _draw(ax: Axes, scores: ScorePanel, bins: int) -> None:
    edges, positive, negative = histogram(scores, bins)
    low, high = scores.thresholds
    if low < high:
        ax.axvspan(low, high, color=REGION_COLOUR, linewidth=0, zorder=0)
    for threshold in (low, *((high,) if high < 1 else ())):
        ax.axvline(threshold, color=EDGE_COLOUR, linewidth=0.7, zorder=1)
    # The root makes small shares visible, which the corner consists of.
    ax.stairs(np.sqrt(positive), edges, fill=True, color=POSITIVE_COLOUR, zorder=2)
    ax.stairs(-np.sqrt(negative), edges, fill=True, color=NEGATIVE_COLOUR, zorder=2)
    ax.axhline(0.0, color="black", linewidth=0.6, zorder=3)
    ticks = np.array([0.5, 0.1, 0.0, 0.1, 0.5])
    signs = np.array([-1, -1, 0, 1, 1])
    ax.set_yticks(signs * np.sqrt(ticks), [f"{tick:g}" for tick in ticks])
    ax.set_xlim(0.0, 1.0)
    tidy(ax)


def _name_classes(ax: Axes, scores: ScorePanel) -> None:
    region, (low, high) = scores.region, scores.thresholds
    words: Any = {"fontsize": SMALL, "transform": ax.transAxes}
    ax.text(0.5, 0.93, "positives", color=POSITIVE_COLOUR, ha="center", va="top", **words)
    ax.text(0.5, 0.07, "negatives", color=NEGATIVE_COLOUR, ha="center", va="bottom", **words)
    texts = [(low, f"FPR {region.max_fpr:g}", "right" if low > 0.5 else "left")]
    if region.is_two_way:
        texts.append((high, f"TPR {region.min_tpr:g}", "left" if high < 0.85 else "right"))
    for number, (x, text, side) in enumerate(texts):
        shift = 2 if side == "left" else -2
        ax.annotate(
            text,
            (x, 0.93 - 0.17 * number),
            xycoords=("data", "axes fraction"),
            xytext=(shift, 0),
            textcoords="offset points",
            fontsize=SMALL,
            color=EDGE_COLOUR,
            ha=side,
            va="top",
        )
