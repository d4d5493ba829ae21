"""The look of figures for print: readable at the width of a column, with text that stays text in a PDF."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from matplotlib import rc_context

from pauc_lightning.plotting.style import NotebookFigure, new_figure

COLUMN = 3.3
"""Width of a journal's column, in inches."""
PAGE = 6.9
"""Width of two columns and the gap between them."""
SMALL = 6.5
"""Size of labels inside the axes, in points."""
PRINT: Any = {
    "font.size": 7.5,
    "axes.labelsize": 7.5,
    "axes.titlesize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 3,
    "axes.labelpad": 2.5,
    # TrueType instead of outlines: text can be searched and edited, and publishers accept it.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
    "axes.unicode_minus": True,
}
"""Settings of matplotlib while a figure is drawn and saved; its releases differ in the type of such settings."""

_MISSING = re.compile(r"Glyph (\d+) .*missing from")

P = ParamSpec("P")
R = TypeVar("R")


def in_print_style(draw: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function such that matplotlib has the settings :data:`PRINT` while it runs."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        with rc_context(PRINT), missing_letters_ignored():
            return draw(*args, **kwargs)

    return drawn


@contextmanager
def missing_letters_ignored() -> Iterator[set[str]]:
    """Collect the letters that a font does not have instead of a warning for each, whenever a text is measured.

    matplotlib warns again when the figure is saved; `pauc figure` then says it in a sentence.
    """
    missing: set[str] = set()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield missing
        finally:
            found = [(one, _MISSING.match(str(one.message))) for one in caught]
            missing |= {chr(int(match[1])) for _, match in found if match}
    for one in (one for one, match in found if not match):
        warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def print_figure(height: float, width: float = COLUMN) -> NotebookFigure:
    """Create an empty figure of a column's width."""
    return new_figure(width, height)
