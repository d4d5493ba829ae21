"""Numbers and regions in words."""

from __future__ import annotations

import math

from pauc_lightning.metrics.functional import Interval
from pauc_lightning.region import Region


def percent(rate: float) -> str:
    """A rate as a percentage with the digits that it needs; no line breaks before the sign.

    Example:
        >>> [percent(rate).split() for rate in (0.1, 0.005, 1 / 3)]
        [['10', '%'], ['0.5', '%'], ['33.3', '%']]
    """
    return f"{100 * rate:.3g}\N{NO-BREAK SPACE}%"


def number(value: float, digits: int = 3) -> str:
    """A number to some decimals, with a true minus sign; an en dash for a value that does not exist.

    Example:
        >>> number(0.91666), number(-0.5), number(math.nan)
        ('0.917', '−0.500', '–')
    """
    return "–" if math.isnan(value) else f"{value:.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 3) -> str:
    """A difference, with its sign."""
    return f"{value:+.{digits}f}".replace("-", "−")


def ends(interval: Interval, digits: int = 3) -> str:
    """The ends of an interval.

    Example:
        >>> ends(Interval(0.9, 0.85, 0.95, 0.025, 0.95))
        '[0.850, 0.950]'
    """
    return f"[{number(interval.low, digits)}, {number(interval.high, digits)}]"


def aim(region: Region) -> str:
    r"""What is asked of a model whose curve is judged in a region.

    Example:
        >>> aim(Region(max_fpr=0.1)).replace("\N{NO-BREAK SPACE}", " ")
        'find as many positives as possible while calling at most 10 % of the negatives positive'
        >>> aim(Region(min_tpr=0.7)).replace("\N{NO-BREAK SPACE}", " ")
        'find at least 70 % of the positives, and more if possible, at any number of false alarms'
    """
    found = (
        f"find at least {percent(region.min_tpr)} of the positives, and more if possible,"
        if region.is_two_way
        else "find as many positives as possible"
    )
    if region.max_fpr == 1 and region.min_fpr == 0:
        return f"{found.rstrip(',')}, at any number of false alarms"
    low = f"{percent(region.min_fpr)} to " if region.min_fpr > 0 else "at most "
    return f"{found} while calling {low}{percent(region.max_fpr)} of the negatives positive"


def limits(region: Region) -> str:
    """The region's bounds in symbols: ``FPR ≤ 0.1, TPR ≥ 0.7``; ``whole ROC curve`` if there are none."""
    bounds = region.title.partition("(")[2].rstrip(")")
    return bounds or "whole ROC curve"


def by_chance(region: Region) -> float:
    """The partial AUC of a random score, whose ROC curve is the diagonal.

    Example:
        >>> f"{by_chance(Region(max_fpr=0.1)):.3f} {by_chance(Region(0.3, 0.7)):.3f} {by_chance(Region()):.3f}"
        '0.050 0.000 0.500'
    """
    start = max(region.min_fpr, region.min_tpr)  # where the diagonal enters the region
    if start >= region.max_fpr:
        return 0.0
    height = (region.max_fpr + start) / 2 - region.min_tpr
    return height * (region.max_fpr - start) / region.size
