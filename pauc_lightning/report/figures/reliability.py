"""Predicted probabilities against observed shares of positives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pauc_lightning.metrics.functional import ReliabilityBins
from pauc_lightning.report.chart import Chart
from pauc_lightning.report.html import Html
from pauc_lightning.report.scale import Scale, linear, logarithmic

_PREDICTED, _OBSERVED = "Predicted probability", "Observed share of positives"


def reliability(bins: Mapping[str, ReliabilityBins], is_log: bool) -> Html:
    """Draw the reliability curve of the scores and of calibrated probabilities, in this order, with intervals.

    Args:
        bins: The curves by name.
        is_log: Whether the axes are logarithmic, which shows the small probabilities of rare positives. A bin without
            positives then has its interval only.
    """
    axes = [_axis(bins, label, is_log) for label in (_PREDICTED, _OBSERVED)]
    error = ", ".join(
        f"{name} deviate by {np.average(np.abs(found.probability - found.rate), weights=found.samples):.3f}"
        for name, found in bins.items()
    )
    alt = f"Reliability curve: on average {error} from the observed shares."
    chart = Chart(axes[0], axes[1], alt, is_square=True)
    chart.line([axes[0].low, 1], [axes[1].low, 1], "chance")
    for index, found in enumerate(bins.values()):
        is_seen = found.rate >= axes[1].low
        chart.whiskers(found.probability, found.low, found.high, f"pale c{index}")
        chart.line(found.probability[is_seen], found.rate[is_seen], f"c{index}")
        chart.dots(found.probability[is_seen], found.rate[is_seen], f"c{index}", radius=3)
    return chart.svg()


def _axis(bins: Mapping[str, ReliabilityBins], label: str, is_log: bool) -> Scale:
    if not is_log:
        return linear(0, 1, label)
    seen = [float(found.rate[found.rate > 0].min()) for found in bins.values() if (found.rate > 0).any()]
    n = max(int(found.samples.sum()) for found in bins.values())
    # As in the project's own figure: the power of ten below the smallest share that can be seen.
    lowest = 10.0 ** np.floor(np.log10(max(min([*seen, 0.1]) / 3, 1 / (3 * n))))
    return logarithmic(float(lowest), 1.0, label)
