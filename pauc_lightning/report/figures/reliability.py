"""Predicted probabilities against observed shares of positives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pauc_lightning.metrics.functional.reliability import ReliabilityBins
from pauc_lightning.report.chart import Chart
from pauc_lightning.report.html import Html
from pauc_lightning.report.scale import linear


def reliability(bins: Mapping[str, ReliabilityBins]) -> Html:
    """Draw the reliability curve of the scores and of calibrated probabilities, in this order, with intervals."""
    names = list(bins)
    error = ", ".join(
        f"{name} deviate by {np.average(np.abs(found.probability - found.rate), weights=found.count):.3f}"
        for name, found in bins.items()
    )
    chart = Chart(
        linear(0, 1, "Predicted probability"),
        linear(0, 1, "Observed share of positives"),
        f"Reliability curve: on average {error} from the observed shares.",
        is_square=True,
    )
    chart.line([0, 1], [0, 1], "chance")
    for index, name in enumerate(names):
        found = bins[name]
        chart.whiskers(found.probability, found.low, found.high, f"pale c{index}")
        chart.line(found.probability, found.rate, f"c{index}")
        chart.dots(found.probability, found.rate, f"c{index}", radius=3)
    return chart.svg()
