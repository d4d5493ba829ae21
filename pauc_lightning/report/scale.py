"""Axes of charts: where a value lies, and which values are labelled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """The values of an axis.

    Args:
        low: The smallest value.
        high: The largest value.
        ticks: The values that are labelled, with their labels.
        label: What is measured.
        transform: Maps values to positions of equal distance: the identity, a logarithm, a logit.
        inverse: Maps them back.
    """

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    label: str
    transform: Callable[[Floats], Floats] = np.asarray
    inverse: Callable[[Floats], Floats] = np.asarray

    def place(self, values: ArrayLike) -> Floats:
        """Compute where values lie between the ends, 0 to 1; values beyond the ends are moved to them."""
        inside = np.clip(np.asarray(values, np.float64), self.low, self.high)
        start, end = self.transform(np.array([self.low, self.high]))
        return np.asarray((self.transform(inside) - start) / (end - start))

    def spread(self, count: int) -> Floats:
        """Compute values at equal distances on the axis, from end to end."""
        start, end = self.transform(np.array([self.low, self.high]))
        return np.clip(self.inverse(np.linspace(start, end, count)), self.low, self.high)


def linear(low: float, high: float, label: str, most_ticks: int = 6) -> Scale:
    """An axis with equal steps of 1, 2, 2.5 or 5 times a power of ten.

    Example:
        >>> linear(0.0, 0.1, "rate").ticks
        [(0.0, '0'), (0.02, '0.02'), (0.04, '0.04'), (0.06, '0.06'), (0.08, '0.08'), (0.1, '0.1')]
    """
    if not high > low:  # a constant
        margin = abs(low) * 0.1 or 1.0
        low, high = low - margin, high + margin
    step = _step((high - low) / max(most_ticks - 1, 1))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return Scale(low, high, [(k * step, _digits(k * step, step)) for k in range(first, last + 1)], label)


def logarithmic(low: float, high: float, label: str) -> Scale:
    """An axis of decades, with percentages as labels.

    Example:
        >>> [name for _, name in logarithmic(0.001, 1.0, "share").ticks]
        ['0.1 %', '1 %', '10 %', '100 %']
    """
    decades = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    return Scale(low, high, [(10.0**k, f"{100 * 10.0**k:g} %") for k in decades], label, np.log10, _power)


def logit(low: float, high: float, label: str) -> Scale:
    """An axis for probabilities near 0 and 1: 0.01 is as far from 0.1 as 0.9 is from 0.99.

    Example:
        >>> [name for _, name in logit(0.005, 0.9995, "score").ticks]
        ['0.01', '0.1', '0.5', '0.9', '0.99', '0.999']
        >>> [name for _, name in logit(1e-6, 1 - 1e-6, "score").ticks]
        ['10⁻⁶', '10⁻⁴', '0.01', '0.5', '0.99', '1−10⁻⁴', '1−10⁻⁶']
    """
    named = [(0.5, "0.5", 0)]
    for digits in range(1, 10):
        small = 10.0**-digits
        power = f"10⁻{'⁰¹²³⁴⁵⁶⁷⁸⁹'[digits]}"
        is_short = digits <= 3
        named.insert(0, (small, f"{small:.{digits}f}" if is_short else power, digits))
        named.append((1 - small, f"{1 - small:.{digits}f}" if is_short else f"1−{power}", digits))
    shown = [tick for tick in named if low * (1 - 1e-9) <= tick[0] <= high * (1 + 1e-9)]
    if len(shown) > 6:  # the labels would touch
        shown = [tick for tick in shown if tick[2] % 2 == 0]
    return Scale(low, high, [(value, name) for value, name, _ in shown], label, _logit, _sigmoid)


def _power(exponent: Floats) -> Floats:
    return np.asarray(10.0**exponent)


def _logit(share: Floats) -> Floats:
    return np.asarray(np.log(share) - np.log1p(-share))


def _sigmoid(value: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-value)))


def _step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return float(next(power * k for k in (1, 2, 2.5, 5, 10) if power * k >= least * (1 - 1e-9)))


def _digits(value: float, step: float) -> str:
    if abs(value) < step / 2:
        return "0"
    if abs(value) >= 1e5 or step < 1e-4:
        return f"{value:.3g}"
    decimals = max(0, 1 - math.floor(math.log10(step) + 1e-9))  # a step of 0.25 needs two
    return f"{value:,.{decimals}f}" if abs(value) >= 1e4 else _short(f"{value:.{decimals}f}")


def _short(number: str) -> str:
    """``0.10`` as ``0.1``, so that a label has no more digits than it needs."""
    return number.rstrip("0").rstrip(".") if "." in number else number
