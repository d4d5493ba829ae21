"""Reads the gains from the tables that ``pauc compare`` writes, and checks them. Nothing slow is imported here."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pauc_lightning.errors import InputError
from pauc_lightning.region import Region

TABLE = "table.csv"
"""The name of the table in a comparison's directory."""
QUANTITY = "test_pauc"
"""The rows that are read: the partial AUC on the test part."""
_TEXTS = ("quantity", "data", "backbone", "method", "baseline")
_LARGEST = 100.0
"""No interval of a gain reaches so far, not even that of two seeds."""
_SEED, _STARTS = "seed_", "start_seeds"
"""The columns with the value of each seed, and with the seeds that returned their start."""
_NUMBERS = ("max_fpr", "min_tpr", "gain", "gain_low", "gain_high")


@dataclass(frozen=True)
class GainRow:
    """A method's gain on one data set, with one backbone, in one region.

    Args:
        data: The data set; empty in a comparison that has only one.
        backbone: The backbone; empty in a comparison that has only one.
        method: The method.
        region: The region.
        gain: The mean gain; None if it is unknown, as it is for the baseline.
        low: The lower end of its interval; None if there is none.
        high: The upper end.
        kept_start: Whether the method returned the model that it started from on every seed; False if the table does
            not say.
    """

    data: str
    backbone: str
    method: str
    region: Region
    gain: float | None
    low: float | None
    high: float | None
    kept_start: bool = False

    @property
    def has_interval(self) -> bool:
        """Whether there is a gain with an interval."""
        return None not in (self.gain, self.low, self.high)


@dataclass(frozen=True)
class GainTable:
    """The gains of a comparison.

    Args:
        path: Its file.
        heading: The name given to it, else that of its file or directory.
        is_named: Whether the name was given.
        baseline: The method that the gains refer to.
        rows: The gains, those of the baseline included, which are unknown.
    """

    path: Path
    heading: str
    is_named: bool
    baseline: str
    rows: tuple[GainRow, ...]

    def data_of(self, row: GainRow) -> str:
        """The name of a row's data set in figures and options: the table's heading if it has none of its own."""
        return row.data or self.heading


def read_gains(path: Path, name: str = "") -> GainTable:
    """Read a comparison's table.

    Args:
        path: The file, or the directory of the comparison.
        name: The name given to it; empty for that of the file or the directory.

    Raises:
        InputError: If it is not such a table; the sentence names the file and the line.
    """
    file = _file_of(path)
    own = file.resolve().parent.name if file.name == TABLE else file.stem
    rows: dict[tuple[str, str, str, Region], GainRow] = {}
    baselines: set[str] = set()
    for line, found in _lines(file):
        row = _row(file, line, found)
        key = (row.data, row.backbone, row.method, row.region)
        if key in rows:
            raise InputError(
                f"`{file}`, line {line}: a second row for {row.method} on the same data, backbone and region. Give "
                "each comparison a table of its own."
            )
        rows[key] = row
        baselines.add(found["baseline"])
    if not rows:
        raise InputError(
            f"`{file}`: it has no row with the quantity {QUANTITY}. Give the {TABLE} of a finished comparison."
        )
    if len(baselines) > 1:
        raise InputError(
            f"`{file}`: its gains have several baselines, {' and '.join(sorted(baselines))}. Give a table with one."
        )
    return GainTable(file, name or own.replace("_", " "), bool(name), baselines.pop(), tuple(rows.values()))


def _file_of(path: Path) -> Path:
    if path.is_dir():
        if not (path / TABLE).is_file():
            raise InputError(
                f"`{path}`: it has no {TABLE}. Give the directory of a comparison that `pauc compare` has finished."
            )
        return path / TABLE
    if not path.exists():
        raise InputError(
            f"`{path}`: no such file or directory. Give a comparison's directory, or its {TABLE}."
        )
    return path


def _lines(file: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Yield the rows of the quantity, with the number of their line."""
    try:
        with file.open(newline="", encoding="utf-8-sig") as opened:
            reader = csv.DictReader(opened, strict=True)
            missing = [name for name in (*_TEXTS, *_NUMBERS) if name not in (reader.fieldnames or ())]
            if missing:
                raise InputError(
                    f"`{file}`: it is not a comparison's table, as it has no column {missing[0]}. Give the {TABLE} "
                    "that `pauc compare` writes."
                )
            for row in reader:
                if None in row.values() or None in row:
                    raise InputError(
                        f"`{file}`, line {reader.line_num}: it has not as many values as the first line names. "
                        "Write the table again with the command of the comparison."
                    )
                if row["quantity"] == QUANTITY:
                    yield reader.line_num, row
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"`{file}`: it is not a CSV file in UTF-8 ({error}). Give a {TABLE}.") from error
    except OSError as error:
        raise InputError(f"`{file}`: it cannot be read ({error.strerror}). Make it readable.") from error


def _row(file: Path, line: int, found: Mapping[str, str]) -> GainRow:
    max_fpr, min_tpr, gain, low, high = (_number(file, line, name, found[name]) for name in _NUMBERS)
    if max_fpr is None or min_tpr is None:
        raise InputError(f"`{file}`, line {line}: the region is missing. Write max_fpr and min_tpr.")
    try:
        region = Region(max_fpr, min_tpr)
    except InputError as error:
        raise InputError(f"`{file}`, line {line}: {error}") from error
    if low is not None and high is not None and low > high:
        raise InputError(
            f"`{file}`, line {line}: gain_low {low:g} is above gain_high {high:g}. Write the smaller one as gain_low."
        )
    known = [number for number in (low, gain, high) if number is not None]
    if known != sorted(known) or any(abs(number) > _LARGEST for number in known):
        said = ", ".join(f"{number:g}" for number in known)
        raise InputError(
            f"`{file}`, line {line}: {said} are not the lower end, the mean and the upper end of a gain. Write the "
            "table again with the command of the comparison."
        )
    return GainRow(
        found["data"], found["backbone"], found["method"], region, gain, low, high, _kept_start(found)
    )


def _kept_start(found: Mapping[str, str]) -> bool:
    """Whether every seed with a value is among those that returned their start; earlier tables do not name them."""
    seeds = {name.removeprefix(_SEED) for name, value in found.items() if name.startswith(_SEED) and value}
    return bool(seeds) and seeds <= set(found.get(_STARTS, "").split())


def _number(file: Path, line: int, name: str, text: str) -> float | None:
    if not text.strip():
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(
            f"`{file}`, line {line}: {name} is `{text}`. Write a finite number, or nothing if it is unknown."
        )
    return number
