"""Predicted probabilities against observed frequencies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.inputs import Values
from pauc_lightning.metrics.functional.reliability import (
    Binning,
    ReliabilityBins,
    calibration_error,
    reliability_bins,
)
from pauc_lightning.plotting.style import COLOURS, EDGE_COLOUR, as_typed, new_figure, tidy

_SIZE = (3.5, 4.6)  # a column of a paper
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_HISTOGRAM_BINS = 30
_FEWEST = 20  # samples in a bin, on average
_RARE = 0.1  # share of positives below which the axes are logarithmic


def plot_reliability(
    probabilities: Mapping[str, Values],
    target: Values,
    bins: int = 10,
    binning: Binning | None = None,
    log: bool | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the observed share of positives over the predicted probability, with intervals, and the number of samples.

    Points on the diagonal are calibrated: of the samples that get 0.2, a fifth are positives. A bar is the 95 %
    interval of a bin's share; on logarithmic axes a bin without positives has only its bar. The calibration error in
    the legend is that of :func:`~pauc_lightning.metrics.functional.calibration_error`, whatever the bins drawn.

    Args:
        probabilities: Predicted probabilities of the same samples by the name of the curve, in [0, 1] each.
        target: Labels 0 and 1, one per sample.
        bins: Number of bins of each curve, at most; fewer if they would have less than twenty samples.
        binning: How the samples are divided, see :func:`~pauc_lightning.metrics.functional.calibration_error`; None
            means "halving" on logarithmic axes and "equal_mass" otherwise.
        log: Whether both axes are logarithmic, which shows small probabilities; None decides so if less than a tenth of
            the samples are positives.
        title: The title of the figure.

    Returns:
        A figure that is not registered with pyplot; a notebook shows it.
    """
    if not probabilities:
        raise InputError(
            "`probabilities` must name at least one curve, got none: give {name: probabilities}."
        )
    labels = np.asarray(target, dtype=np.float64)
    is_log = float(labels.mean()) < _RARE if log is None else log
    bins = min(bins, max(labels.size // _FEWEST, 2))
    binning = binning or ("halving" if is_log else "equal_mass")
    curves = {name: reliability_bins(values, target, bins, binning) for name, values in probabilities.items()}
    lowest = _lowest(curves) if is_log else 0.0
    figure = new_figure(*_SIZE)
    ax, counts = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    ax.plot([lowest, 1], [lowest, 1], color=EDGE_COLOUR, linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
    for index, (name, curve) in enumerate(curves.items()):
        error = calibration_error(probabilities[name], target)
        _draw_curve(ax, f"{name} (ECE {error:.3f})", curve, index, lowest)
        _draw_counts(counts, np.asarray(probabilities[name], dtype=np.float64).ravel(), index, lowest)
    for axes in (ax, counts):
        if is_log:
            axes.set_xscale("log")
        tidy(axes)
    if is_log:
        ax.set_yscale("log")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
    ends = (0.8 * lowest, 1.25) if is_log else (-0.02, 1.02)
    ax.set(xlim=ends, ylim=ends, ylabel="observed share of positives")
    counts.set(yscale="log", ylabel="samples", xlabel="predicted probability")
    # Above the axes: points may be on either side of the diagonal.
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside upper center",
        title=title,
        frameon=False,
        fontsize="small",
        title_fontsize="medium",
    )
    return figure


def _draw_curve(ax: Axes, label: str, curve: ReliabilityBins, index: int, lowest: float) -> None:
    colour = COLOURS[index % len(COLOURS)]
    x = np.maximum(curve.probability, lowest)
    ax.vlines(x, np.maximum(curve.low, lowest), curve.high, color=colour, linewidth=0.8, alpha=0.7, zorder=2)
    is_shown = curve.rate > (0 if lowest > 0 else -1)
    ax.plot(
        x[is_shown],
        curve.rate[is_shown],
        color=colour,
        marker=_MARKERS[index % len(_MARKERS)],
        markersize=4,
        linewidth=1.0,
        label=as_typed(label),
        zorder=3,
    )


def _draw_counts(ax: Axes, values: NDArray[np.float64], index: int, lowest: float) -> None:
    edges = (
        np.geomspace(lowest, 1, _HISTOGRAM_BINS + 1) if lowest > 0 else np.linspace(0, 1, _HISTOGRAM_BINS + 1)
    )
    ax.hist(
        np.clip(values, edges[0], edges[-1]),
        edges.tolist(),
        histtype="step",
        color=COLOURS[index % len(COLOURS)],
        linewidth=1.0,
    )


def _lowest(curves: Mapping[str, ReliabilityBins]) -> float:
    """The power of ten below which the logarithmic axes do not go: below the smallest share that can be seen."""
    seen = [float(curve.rate[curve.rate > 0].min()) for curve in curves.values() if (curve.rate > 0).any()]
    n = max(int(curve.samples.sum()) for curve in curves.values())
    return float(10.0 ** np.floor(np.log10(max(min([*seen, 0.1]) / 3, 1 / (3 * n)))))
