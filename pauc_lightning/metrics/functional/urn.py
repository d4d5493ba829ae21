"""Drawing with replacement, counted per cell, at a few nanoseconds for each cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

_RESERVE = 6
"""Standard deviations by which the Poisson counts fall short of the total on average, so that they hardly exceed it."""
_SLOTS = 1 << 16
_UNDECIDED = 255
_LARGEST = 128
"""The largest cells with a table: no Poisson number of this mean reaches ``_UNDECIDED``."""
_FEWEST = 256
"""The least number of cells of one size for which a table is worth its cost."""


class Urn:
    """Cells of samples, from which as many samples are drawn as there are, with replacement.

    The counts per cell are multinomial. Poisson numbers with means in proportion to the sizes are multinomial, too,
    given their sum, and each of them can be drawn on its own. They are drawn for a sum that is a little short of the
    total, and the missing samples one by one: the sum of both is multinomial, exactly.

    Args:
        sizes: Number of samples in each cell; at least one is not 0.

    Example:
        >>> counts = Urn(np.array([1, 0, 500, 3])).draw(np.random.default_rng(0), 2)
        >>> counts.shape, counts.sum(axis=1).tolist(), counts[:, 1].tolist()
        ((2, 4), [504, 504], [0, 0])
    """

    def __init__(self, sizes: Counts) -> None:
        self.n_cells = len(sizes)
        self._total = int(sizes.sum())
        self._cell_of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        rate = max(0.0, 1 - _RESERVE / np.sqrt(self._total))
        # Cells of one size are neighbours: first those that share a table, then the others.
        distinct, size_of, how_many = np.unique(sizes, return_inverse=True, return_counts=True)
        has_table = (how_many >= _FEWEST) & (distinct <= _LARGEST)
        order = np.lexsort((sizes, ~has_table[size_of]))
        self._cells = order[sizes[order] > 0]
        is_used = has_table & (distinct > 0)
        self._tables = [_PoissonTable.of(rate * size) for size in distinct[is_used].tolist()]
        self._ends = np.cumsum(how_many[is_used]).tolist()
        n_in_tables = self._ends[-1] if self._ends else 0
        self._means = rate * sizes[self._cells[n_in_tables:]]

    def draw(self, rng: np.random.Generator, n: int) -> Counts:
        """Draw n resamples, and count the samples from each cell: shape ``(n, cells)``."""
        counts = np.zeros((n, self.n_cells), np.int64)
        counts[:, self._cells] = self._draw_most(rng, n)
        missing = self._total - counts.sum(axis=1)
        for row in np.flatnonzero(missing < 0):  # once in a billion rows
            while missing[row] < 0:
                counts[row, self._cells] = self._draw_most(rng, 1)[0]
                missing[row] = self._total - counts[row].sum()
        rest = self._cell_of[rng.integers(0, self._total, int(missing.sum()))]
        np.add.at(counts, (np.repeat(np.arange(n), missing), rest), 1)
        return counts

    def _draw_most(self, rng: np.random.Generator, n: int) -> Counts:
        """Poisson numbers for the cells in ``_cells``, shape ``(n, cells)``."""
        drawn = np.empty((n, len(self._cells)), np.int64)
        start = 0
        for table, end in zip(self._tables, self._ends, strict=True):
            drawn[:, start:end] = table.draw(rng, n * (end - start)).reshape(n, -1)
            start = end
        drawn[:, start:] = rng.poisson(self._means, (n, len(self._means)))
        return drawn


class _PoissonTable(NamedTuple):
    """Poisson numbers by a table: 16 random bits decide nearly all of them, and further bits the others.

    Attributes:
        numbers: The number for each value of the bits, or ``_UNDECIDED``.
        cumulative: The probability of at most 0, 1, 2, ....
    """

    numbers: NDArray[np.uint8]
    cumulative: NDArray[np.float64]

    @classmethod
    def of(cls, mean: float) -> _PoissonTable:
        k = np.arange(1, _UNDECIDED)
        cumulative = np.cumsum(np.exp(-mean + np.append(0.0, np.cumsum(np.log(mean) - np.log(k)))))
        ends = np.minimum(cumulative * _SLOTS, _SLOTS)
        ends[-1] = _SLOTS
        numbers = np.repeat(
            np.arange(_UNDECIDED, dtype=np.uint8), np.diff(np.ceil(ends).astype(int), prepend=0)
        )
        cut = np.floor(ends).astype(int)  # two numbers share these values of the bits
        numbers[cut[cut < _SLOTS]] = _UNDECIDED
        return cls(numbers, cumulative)

    def draw(self, rng: np.random.Generator, n: int) -> NDArray[np.uint8]:
        bits = rng.bit_generator.random_raw(-(-n // 4)).view(np.uint16)[:n]
        drawn = self.numbers[bits]
        undecided = np.flatnonzero(drawn == _UNDECIDED)
        uniform = (bits[undecided] + rng.random(len(undecided))) / _SLOTS
        drawn[undecided] = np.searchsorted(self.cumulative, uniform, side="right")
        return drawn
