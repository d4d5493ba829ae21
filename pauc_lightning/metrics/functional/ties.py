"""What the ROC curve leaves of a tie that the region's edge cuts, in exact rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class Window(NamedTuple):
    """The rectangle of the ROC plane that counts, measured in samples instead of rates.

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
        """How many negatives the region selects."""
        return self.last - self.first

    @property
    def bottom(self) -> int:
        """Number of positives below the rectangle: the highest-scored ones."""
        return self.n_pos - self.kept


class Tie(NamedTuple):
    """Positives and negatives that share one score: a slanted straight line of the ROC curve.

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
        """How much more than the ROC curve's area the rule "half" credits, in pairs; 0 unless an edge cuts the tie."""
        return self._half_credit(window) - self._area(window)

    def _half_credit(self, window: Window) -> Fraction:
        """Half a win for each pair of a kept positive and a selected negative, a whole one for those below the tie."""
        kept = self.positives - self._under(window)
        clamped = sum(
            min(max(x, window.first), window.last) for x in (self.neg_above, self.neg_above + self.negatives)
        )
        return kept * (window.last - Fraction(clamped, 2))

    def _area(self, window: Window) -> Fraction:
        """The area inside the window that lies right of this line, at the line's heights.

        That is ∫ (last - clamp(x(y), first, last)) dy over the kept heights y; on the line dy = positives/negatives dx.
        """
        end = self.neg_above + self.negatives
        start = self.neg_above + Fraction(self.negatives * self._under(window), self.positives)
        slope = Fraction(self.positives, self.negatives)
        return slope * (_remaining(start, window) - _remaining(Fraction(end), window))

    def _under(self, window: Window) -> int:
        """How many of the tie's positives lie below the window."""
        return min(max(window.bottom - self.pos_above, 0), self.positives)


def _remaining(x: Fraction, window: Window) -> Fraction:
    """∫ (last - clamp(t, first, last)) dt from ``x`` on."""
    inside = min(max(x, Fraction(window.first)), Fraction(window.last))
    return (window.last - inside) ** 2 / 2 + max(window.first - x, Fraction(0)) * window.width
