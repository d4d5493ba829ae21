"""Reads the CSV files of this package; lines that begin with # say where the numbers come from."""

from __future__ import annotations

import csv
from pathlib import Path

from pauc_lightning.region import Region


def read_rows(name: str) -> list[dict[str, str]]:
    """The rows of a file in this folder, by the names of its columns."""
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def region_of(row: dict[str, str]) -> Region:
    """The region in a row's columns ``max_fpr`` and ``min_tpr``."""
    return Region(max_fpr=float(row["max_fpr"]), min_tpr=float(row["min_tpr"]))


def region_key(region: Region) -> tuple[float, float, float]:
    """A key that regions share if they differ by rounding only: 1 - 0.7 is 0.3.

    Example:
        >>> region_key(Region(max_fpr=1 - 0.7)) == region_key(Region(max_fpr=0.3))
        True
    """
    return round(region.max_fpr, 9), round(region.min_tpr, 9), round(region.min_fpr, 9)
