"""The distribution of the scores in each class."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from torch import Tensor

from pauc_lightning.plotting.style import NEGATIVE_COLOUR, POSITIVE_COLOUR, new_figure, tidy
from pauc_lightning.region import Region


def plot_score_distribution(scores: Tensor, target: Tensor, region: Region, bins: int = 40) -> Figure:
    """Draw a histogram of each class; the samples that the region selects are solid, the others pale.

    Args:
        scores: Sigmoid scores, shape ``(samples,)``.
        target: Labels 0 and 1, shape ``(samples,)``.
        region: The region whose samples stand out.
        bins: Number of bars per class over [0, 1].

    Returns:
        A figure that is not registered with pyplot; a notebook shows it.
    """
    values, labels = scores.numpy(force=True), target.numpy(force=True)
    positive, negative = np.sort(values[labels == 1]), np.sort(values[labels == 0])
    n_selected, first, last = region.counts(len(positive), len(negative))
    selected_positive = positive[:n_selected]
    selected_negative = negative[::-1][first:last]
    figure = new_figure(6.4, 4.0)
    axes = figure.subplots()
    edges = np.linspace(0.0, 1.0, bins + 1).tolist()
    for name, everything, selected, colour in (
        ("negatives", negative, selected_negative, NEGATIVE_COLOUR),
        ("positives", positive, selected_positive, POSITIVE_COLOUR),
    ):
        share = 1.0 / max(len(everything), 1)
        axes.hist(everything, edges, weights=np.full(len(everything), share), color=colour, alpha=0.3)
        axes.hist(
            selected,
            edges,
            weights=np.full(len(selected), share),
            color=colour,
            alpha=0.75,
            label=f"{name} (solid: in the region)",
        )
    axes.set(xlabel="score", ylabel="share of the class", xlim=(0.0, 1.0), title=region.title)
    tidy(axes)
    axes.legend(frameon=False)
    return figure
