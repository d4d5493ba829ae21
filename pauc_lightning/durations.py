"""Durations in words."""

from __future__ import annotations


def in_words(seconds: float) -> str:
    """Write a duration for people.

    Example:
        >>> in_words(0.4), in_words(75), in_words(150), in_words(9000)
        ('1 s', '75 s', '2 min', '2 h 30 min')
    """
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
