"""Writes a figure as PNG and PDF, with the data behind it as CSV; each file is complete or absent."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pauc_lightning.experiments.csv_rows import as_csv
from pauc_lightning.files import complete_binary_file, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 200
"""Resolution of the PNG, for screens; the PDF has none and is the one to print."""
_WITHOUT_TIME = {"png": {}, "pdf": {"CreationDate": None}}
"""The same data make the same file, whenever they are drawn."""


def save_figure(folder: Path, name: str, figure: Figure, rows: Sequence[Mapping[str, object]]) -> list[Path]:
    """Write ``<name>.png``, ``<name>.pdf`` and ``<name>.csv`` into a folder; return the files.

    Args:
        folder: The folder; it is created if it does not exist.
        name: The files' name without ending.
        figure: The figure.
        rows: The data, one mapping of column to value per row; at least one row.
    """
    from matplotlib import rc_context

    from pauc_lightning.plotting.print_style import PRINT, missing_letters_ignored

    files = []
    with rc_context(PRINT), missing_letters_ignored() as missing:
        for kind, metadata in _WITHOUT_TIME.items():
            files.append(folder / f"{name}.{kind}")
            with complete_binary_file(files[-1]) as file:
                figure.savefig(file, format=kind, dpi=_DPI, metadata=metadata)
    if missing:
        print(
            f"The figure shows boxes for {' '.join(sorted(missing))}, which its font does not have. Write the names in "
            "other letters; NAME=PATH gives runs and tables one.",
            file=sys.stderr,
        )
    files.append(folder / f"{name}.csv")
    write_text(files[-1], as_csv([dict(row) for row in rows]))
    return files
