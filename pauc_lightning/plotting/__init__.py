"""Figures: arrays in, a matplotlib figure out. Nothing is saved or logged here.

- Of a run: ``roc`` (curves with the region shaded), ``scores`` (their distribution), ``reliability`` (probabilities
  against frequencies).
- Of a comparison: ``methods``, ``gains``, ``gain_map``, ``gains_by_gap``.
- For print: ``roc_bands``, ``convergence`` and ``variables`` with ``bands``, ``score_panels``, ``sensitivity``,
  ``quantile``, ``pull``, ``gain_panels``.
- Of a benchmark: ``timing``.
- The common look: ``style``; ``print_style`` and ``direct_labels`` for print.
"""

from pauc_lightning.plotting.convergence import ConvergencePanel, TrainingCurves, plot_convergence
from pauc_lightning.plotting.gain_map import plot_gain_map
from pauc_lightning.plotting.gain_panels import plot_gain_panels
from pauc_lightning.plotting.gains import Gain, plot_gains
from pauc_lightning.plotting.gains_by_gap import GainByGap, plot_gains_by_gap
from pauc_lightning.plotting.methods import MethodCurves, plot_methods
from pauc_lightning.plotting.pull import plot_pull
from pauc_lightning.plotting.quantile import Selection, Shares, plot_quantile
from pauc_lightning.plotting.reliability import plot_reliability
from pauc_lightning.plotting.roc import draw_roc, plot_roc, plot_roc_curves
from pauc_lightning.plotting.roc_bands import plot_roc_bands
from pauc_lightning.plotting.score_panels import ScorePanel, plot_score_panels
from pauc_lightning.plotting.scores import plot_score_distribution
from pauc_lightning.plotting.sensitivity import plot_sensitivity
from pauc_lightning.plotting.timing import plot_timing
from pauc_lightning.plotting.variables import Trajectory, plot_variables

__all__ = [
    "ConvergencePanel",
    "Gain",
    "GainByGap",
    "MethodCurves",
    "ScorePanel",
    "Selection",
    "Shares",
    "TrainingCurves",
    "Trajectory",
    "draw_roc",
    "plot_convergence",
    "plot_gain_map",
    "plot_gain_panels",
    "plot_gains",
    "plot_gains_by_gap",
    "plot_methods",
    "plot_pull",
    "plot_quantile",
    "plot_reliability",
    "plot_roc",
    "plot_roc_bands",
    "plot_roc_curves",
    "plot_score_distribution",
    "plot_score_panels",
    "plot_sensitivity",
    "plot_timing",
    "plot_variables",
]
