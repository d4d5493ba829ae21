"""Whole comparisons: many runs, one table."""
