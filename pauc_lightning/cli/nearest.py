"""Suggestions for misspelled names, at the command line; the methods use the same function."""

from pauc_lightning.nearest import nearest

__all__ = ["nearest"]
