"""The tables of `pauc benchmark loss`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from pauc_lightning.benchmarks.contenders import LIBRARIES, REFERENCE
from pauc_lightning.experiments.paper import published_time
from pauc_lightning.region import Region

if TYPE_CHECKING:
    from pauc_lightning.benchmarks.loss import Measurement, Times

    Pass = Callable[[Measurement], Times]

_MISSING = "–"
_PAPERS_LARGEST = 2048
_FORWARD, _BOTH = "forward", "forward and backward"


def tables(measurements: Sequence[Measurement]) -> str:
    """All tables, for one region after the other."""
    blocks: list[str] = []
    for region in dict.fromkeys(found.region for found in measurements):
        of_region = [found for found in measurements if found.region == region]
        sizes = sorted({found.n for found in of_region})
        beside = max((n for n in sizes if n <= _PAPERS_LARGEST), default=sizes[0])
        for name, times in _passes().items():
            title = f"{region.title}: {name}, in milliseconds, of n positives and n negatives"
            blocks.append("\n".join([title, *_by_size(of_region, sizes, times)]))
        title = f"{region.title}: {_BOTH}, relative to {REFERENCE}, with quartiles"
        blocks.append("\n".join([title, *_ratios(of_region, sorted({sizes[0], beside, sizes[-1]}))]))
        title = f"{region.title}: forward / {_BOTH} at n = {beside}, in milliseconds"
        blocks.append("\n".join([title, *_libraries(region, of_region, beside)]))
    return "\n\n".join(blocks)


def exponent(points: Sequence[tuple[int, float]]) -> float | None:
    """The slope between the first and the last point on logarithmic axes; None for a single point.

    Example:
        >>> exponent([(64, 1.0), (128, 3.0), (256, 16.0)])
        2.0
    """
    if len(points) < 2:
        return None
    (n_first, first), (n_last, last) = points[0], points[-1]
    return math.log(last / first) / math.log(n_last / n_first)


def _passes() -> dict[str, Pass]:
    return {_FORWARD: lambda found: found.forward, _BOTH: lambda found: found.both}


def _by_loss(measurements: Sequence[Measurement]) -> dict[str, dict[int, Measurement]]:
    found: dict[str, dict[int, Measurement]] = {}
    for measurement in measurements:
        found.setdefault(measurement.contender.name, {})[measurement.n] = measurement
    return found


def _by_size(measurements: Sequence[Measurement], sizes: Sequence[int], times: Pass) -> Iterator[str]:
    """A row for each loss, a column for each size, and the exponent of the cost."""
    by_loss = _by_loss(measurements)
    width = max(map(len, by_loss))
    yield _row("n", width, [*map(str, sizes), "exponent"])
    for name, at in by_loss.items():
        slope = exponent([(n, times(at[n]).median) for n in sizes if n in at])
        cells = [_milliseconds(times(at[n]).median) if n in at else _MISSING for n in sizes]
        yield _row(name, width, [*cells, _MISSING if slope is None else f"{slope:.2f}"])


def _ratios(measurements: Sequence[Measurement], sizes: Sequence[int]) -> Iterator[str]:
    """A row for each loss with its ratio to cross-entropy's median, and where the middle half of its times lies."""
    by_loss = _by_loss(measurements)
    width = max(map(len, by_loss))
    yield _row("n", width, map(str, sizes), column=24)
    for name, at in by_loss.items():
        cells = []
        for n in sizes:
            if n not in at:
                cells.append(_MISSING)
                continue
            unit = by_loss[REFERENCE][n].both.median
            low, high = (_digits(time / unit) for time in at[n].both.quartiles)
            cells.append(f"{_digits(at[n].both.median / unit)} ({low} to {high})")
        yield _row(name, width, cells, column=24)


def _libraries(region: Region, measurements: Sequence[Measurement], n: int) -> Iterator[str]:
    """A row for each method of the paper or of another library, a column for each source."""
    at_n = [found for found in measurements if found.n == n]
    libraries = [name for name in LIBRARIES if any(found.contender.library == name for found in at_n)]
    yield _row("", 10, [*libraries, "the paper"], column=21)
    for method in dict.fromkeys(found.contender.method for found in at_n):
        of_method = [found for found in at_n if found.contender.method == method]
        first = {found.contender.library: found for found in reversed(of_method)}
        paper = published_time(method, region, n, n)
        if len(first) == 1 and paper is None:
            continue
        cells = [
            f"{_milliseconds(first[name].forward.median)} / {_milliseconds(first[name].both.median)}"
            if name in first
            else _MISSING
            for name in libraries
        ]
        cells.append(_MISSING if paper is None else f"{paper.milliseconds:.3f}")
        yield _row(first["here"].contender.name, 10, cells, column=21)


def _row(name: str, width: int, cells: Iterator[str] | Sequence[str], column: int = 10) -> str:
    return f"{name:{width}}" + "".join(f"{cell:>{column}}" for cell in cells)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}" if seconds < 0.1 else f"{seconds * 1e3:.0f}"


def _digits(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:.0f}"
