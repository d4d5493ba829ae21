"""How the scores of the two classes are distributed."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from pauc_lightning.region import Region

POSITIVE_COLOR = "#d55e00"
NEGATIVE_COLOR = "#0072b2"


def plot_score_distribution(scores: Tensor, target: Tensor, region: Region, bins: int = 40) -> Figure:
    """Histograms of both classes' scores; what the region selects is drawn solid, the rest pale.

    Args:
        scores: Sigmoid scores, shape ``(n,)``.
        target: Labels 0 or 1, shape ``(n,)``.
        region: The region whose selected instances stand out.
        bins: Number of bars per class over [0, 1].
    """
    values, labels = scores.numpy(force=True), target.numpy(force=True)
    positive, negative = np.sort(values[labels == 1]), np.sort(values[labels == 0])
    n_selected, first, last = region.counts(len(positive), len(negative))
    selected_positive = positive[:n_selected]
    selected_negative = negative[::-1][first:last]
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    edges = np.linspace(0.0, 1.0, bins + 1).tolist()
    for name, everything, selected, color in (
        ("negatives", negative, selected_negative, NEGATIVE_COLOR),
        ("positives", positive, selected_positive, POSITIVE_COLOR),
    ):
        share = 1.0 / max(len(everything), 1)
        axes.hist(everything, edges, weights=np.full(len(everything), share), color=color, alpha=0.3)
        axes.hist(
            selected,
            edges,
            weights=np.full(len(selected), share),
            color=color,
            alpha=0.75,
            label=f"{name} (solid: in the region)",
        )
    axes.set(xlabel="score", ylabel="share of the class", xlim=(0.0, 1.0), title=region.title)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure
