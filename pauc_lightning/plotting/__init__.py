"""Figures: arrays in, a matplotlib figure out. Nothing is saved or logged here.

``roc`` (curves with the region shaded), ``scores`` (their distribution), ``reliability``
(probabilities against frequencies), ``methods`` and ``gains`` (the figures of a comparison),
``timing`` (the figure of a benchmark) and ``style`` (the common look).
"""

from pauc_lightning.plotting.gains import Gain, plot_gains
from pauc_lightning.plotting.methods import MethodCurves, plot_methods
from pauc_lightning.plotting.reliability import plot_reliability
from pauc_lightning.plotting.roc import draw_roc, plot_roc, plot_roc_curves
from pauc_lightning.plotting.scores import plot_score_distribution
from pauc_lightning.plotting.timing import plot_timing

__all__ = [
    "Gain",
    "MethodCurves",
    "draw_roc",
    "plot_gains",
    "plot_methods",
    "plot_reliability",
    "plot_roc",
    "plot_roc_curves",
    "plot_score_distribution",
    "plot_timing",
]
