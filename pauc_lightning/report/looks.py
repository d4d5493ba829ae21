"""The colours and dashes of the models' lines."""

from __future__ import annotations

DASHES = ("none", "7 4", "7 3 2 3", "2 3")
"""Dashes tell the lines apart in print, and for readers who cannot tell the colours apart."""

_COLOURS = 7
_FEWEST = 4


def looks(n: int) -> str:
    """The rules that give the class ``c0``, ``c1``, ... a colour and dashes, for at least so many lines.

    Inside an element of the class ``of0``, ``of1``, ... the class ``own`` has the colour of that model.
    """
    rules = (
        f".c{index}{{--c:var(--c{index % _COLOURS}-);--dash:{DASHES[index % len(DASHES)]}}}"
        f".of{index}{{--own:var(--c{index % _COLOURS}-)}}"
        for index in range(max(n, _FEWEST))
    )
    return "".join(rules)
