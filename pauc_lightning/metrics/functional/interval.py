"""An estimate with its confidence interval."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval.

    Args:
        value: The estimate.
        low: Lower end of the interval.
        high: Upper end of the interval.
        standard_error: Standard error of the estimate.
        confidence: The interval covers the true value with about this probability.
    """

    value: float
    low: float
    high: float
    standard_error: float
    confidence: float

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside, so that a difference has a sign."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """The estimate and the interval, as in ``0.8125 [0.7301, 0.8734]``."""
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"
