"""Figures: arrays in, a matplotlib figure out; nothing is shown, saved or logged here."""

from pauc_lightning.plotting.roc import RocCurve, draw_roc, plot_roc, plot_roc_curves

__all__ = ["RocCurve", "draw_roc", "plot_roc", "plot_roc_curves"]
