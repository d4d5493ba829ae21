"""The part of a tie that lies in the region when an edge of the region cuts it, in exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class Window(NamedTuple):
    """The region as a rectangle of the ROC plane, measured in samples instead of rates.

    Args:
        n_pos: Number of positives: the upper edge.
        kept: How many positives the region keeps: the height.
        first: Number of negatives left of the rectangle.
        last: Number of negatives left of the rectangle's right edge.
    """

    n_pos: int
    kept: int
    first: int
    last: int

    @property
    def width(self) -> int:
        """The number of negatives that the region selects."""
        return self.last - self.first

    @property
    def bottom(self) -> int:
        """The number of positives below the rectangle, which are the highest-scored ones."""
        return self.n_pos - self.kept


class Tie(NamedTuple):
    """Positives and negatives that share one score, which form a slanted straight line of the ROC curve.

    The line goes from (``neg_above``, ``pos_above``) to (``neg_above + negatives``, ``pos_above + positives``).

    Args:
        pos_above: Number of positives with a higher score.
        positives: Number of positives with this score, at least 1.
        neg_above: Number of negatives with a higher score.
        negatives: Number of negatives with this score, at least 1.
    """

    pos_above: int
    positives: int
    neg_above: int
    negatives: int

    def excess_credit(self, window: Window) -> Fraction:
        """Return how much the rule "half" exceeds the ROC curve's area, in pairs; 0 unless an edge cuts the tie."""
        return self._half_credit(window) - self._area(window)

    def _half_credit(self, window: Window) -> Fraction:
        """Credit a kept positive with half a win for each selected negative of the tie, a whole one for those below."""
        kept = self.positives - self._under(window)
        clamped = sum(
            min(max(x, window.first), window.last) for x in (self.neg_above, self.neg_above + self.negatives)
        )
        return kept * (window.last - Fraction(clamped, 2))

    def _area(self, window: Window) -> Fraction:
        """Compute the area inside the window to the right of this line, at the line's heights.

        It is ∫ (last - clamp(x(y), first, last)) dy over the kept heights y; on the line dy = positives/negatives dx.
        """
        end = self.neg_above + self.negatives
        start = self.neg_above + Fraction(self.negatives * self._under(window), self.positives)
        slope = Fraction(self.positives, self.negatives)
        return slope * (_remaining(start, window) - _remaining(Fraction(end), window))

    def _under(self, window: Window) -> int:
        """Count the tie's positives that lie below the window."""
        return min(max(window.bottom - self.pos_above, 0), self.positives)


def _remaining(x: Fraction, window: Window) -> Fraction:
    """Compute ∫ (last - clamp(t, first, last)) dt from ``x`` on."""
    inside = min(max(x, Fraction(window.first)), Fraction(window.last))
    return (window.last - inside) ** 2 / 2 + max(window.first - x, Fraction(0)) * window.width
