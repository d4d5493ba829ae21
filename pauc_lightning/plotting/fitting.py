"""Names that people chose, in the room that a figure has for them: broken into lines, or shortened."""

from __future__ import annotations

import textwrap
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from pauc_lightning.plotting.print_style import PRINT
from pauc_lightning.plotting.style import as_typed

_HINTED = 1.04
"""How much wider a text may be on a grid of pixels than its outlines."""
_KERNED = 1.01
"""How much wider a text may be than its letters together."""
_ELLIPSIS = "…"
_TITLE = PRINT["axes.titlesize"]
LEFT_OF_AXES = 0.5
"""The room left of the axes, above which there is no title, in inches."""
_TITLE_LINES = 2
# What is left out of a name: most differ at an end, and a few only in the middle.
_CUTS: tuple[Callable[[str, int], str], ...] = (
    lambda text, kept: text[: (kept + 1) // 2] + _ELLIPSIS + text[len(text) - kept // 2 :],
    lambda text, kept: text[:kept] + _ELLIPSIS,
    lambda text, kept: _ELLIPSIS + text[len(text) - kept :],
)


def length(text: str, size: float, weight: str = "normal") -> float:
    """The width of a text in inches.

    Args:
        text: The text as it was typed.
        size: Font size in points.
        weight: Weight of the font.
    """
    if not text.strip():
        return 0.0
    path = TextPath((0, 0), as_typed(text), size=size, prop=FontProperties(weight=weight))
    return _HINTED * float(path.get_extents().width) / 72


def _estimate(text: str, size: float, weight: str = "normal") -> float:
    """A width that is hardly too large, without the time to lay out the whole text."""
    return _KERNED * sum(_of_letter(letter, size, weight) for letter in text)


@lru_cache(maxsize=4096)
def _of_letter(letter: str, size: float, weight: str) -> float:
    return length(f"x{letter}x", size, weight) - length("xx", size, weight)


def wrapped(text: str, width: float, size: float, weight: str = "normal") -> str:
    """Break a text that is wider than its place into as many lines as it needs.

    Args:
        text: The text.
        width: The width of its place, in inches.
        size: Font size in points.
        weight: Weight of the font.
    """
    whole = length(text, size, weight)
    if whole <= width:
        return text
    letters = max(1, int(len(text) * width / whole))
    while True:  # letters differ in width
        broken = textwrap.fill(text, letters)
        if letters == 1 or all(_estimate(line, size, weight) <= width for line in broken.split("\n")):
            return broken
        letters -= 1


def fitted(text: str, width: float, size: float, lines: int = 1) -> str:
    """Break a text into at most so many lines; if they do not hold it, leave out its middle.

    Args:
        text: The text.
        width: The width of its place, in inches.
        size: Font size in points.
        lines: The largest number of lines.

    Example:
        >>> fitted("UPAUCI", 1.0, 7.0)
        'UPAUCI'
        >>> start, end = fitted("weight decay 0.0001, second attempt", 1.0, 7.0).split("…")  # by the font's letters
        >>> "weight decay".startswith(start), "second attempt".endswith(end)
        (True, True)
    """
    return fitted_names([text], width, size, lines)[text]


def fitted_names(names: Sequence[str], width: float, size: float, lines: int = 1) -> dict[str, str]:
    """Like :func:`fitted` for names of one figure: different names stay different.

    If their ends do not tell them apart, names are cut elsewhere, or numbered.
    """
    for cut in _CUTS:
        found = {name: _cut(name, cut, width, size, lines) for name in names}
        if len(set(found.values())) == len(found):
            return found
    return {
        name: name if _fits(name, width, size, lines) else _cut(name, _numbered(number), width, size, lines)
        for number, name in enumerate(dict.fromkeys(names), start=1)
    }


def _numbered(number: int) -> Callable[[str, int], str]:
    return lambda text, kept: f"{text[:kept]}{_ELLIPSIS} ({number})"


def _cut(text: str, cut: Callable[[str, int], str], width: float, size: float, lines: int) -> str:
    """The longest shortened text that fits, broken into lines."""
    if length(text, size) <= width:
        return text
    if _fits(text, width, size, lines):
        return wrapped(text, width, size)
    # Longer than any that fits, by the narrowest letters: names may be very long.
    most = min(len(text) - 1, int(lines * width * 72 / (0.2 * size)))
    kept = bisect_left(range(1, most + 1), True, key=lambda n: not _fits(cut(text, n), width, size, lines))
    return wrapped(cut(text, max(1, kept)), width, size)


def _fits(text: str, width: float, size: float, lines: int) -> bool:
    return _estimate(text, size) <= lines * width and wrapped(text, width, size).count("\n") < lines


def set_title(ax: Axes, text: str) -> None:
    """Write a title with names that people chose: as typed, within the figure, on one line if it fits."""
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    room = float(figure.get_figwidth()) - LEFT_OF_AXES
    ax.set_title(as_typed(fitted(text, room, _TITLE, _TITLE_LINES)), loc="left")
