"""Tables from CSV, TSV and Parquet files, with one-sentence errors for unreadable ones."""

from __future__ import annotations

import csv
import gzip
import os
import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pauc_lightning.errors import InputError
from pauc_lightning.files import home_hint

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]  # ships no types

_ENDINGS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t", ".parquet": None}
_OTHER_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars", ",": "commas"}
_SHOWN = 10


def few(names: Sequence[object]) -> str:
    """The first ten names, and how many more there are.

    Example:
        >>> few(range(12))
        '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more'
    """
    shown = ", ".join(str(name) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def read_table(argument: str, path: Path, text_columns: Collection[str] = ()) -> DataFrame:
    """Read a CSV, TSV or Parquet file. Rows are numbered from 0; column names are text without surrounding spaces.

    Args:
        argument: The argument that names the file, for messages.
        path: The file.
        text_columns: Columns of text files that are kept exactly as written, so that 007 does not become 7.
    """
    try:
        import pandas
    except ImportError as error:
        raise InputError("tables need pandas: pip install 'pauc-lightning[tabular]'.") from error
    file = f"`{argument}={path}`"
    separator = _separator(file, path)
    try:
        table = (
            pandas.read_parquet(path)
            if separator is None
            else _read_text(file, path, separator, text_columns)
        )
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file} is not encoded in UTF-8: save it as UTF-8, for example with `iconv -f latin1 -t utf-8`."
        ) from error
    except pandas.errors.EmptyDataError as error:
        raise InputError(f"{file} is empty: give a file with a header and rows.") from error
    except (ValueError, OSError, EOFError, ImportError) as error:
        kind = "a Parquet file" if separator is None else "a table"
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"{file} cannot be read as {kind} ({reason}): repair it or save it again."
        ) from error
    table.columns = [str(name).strip() for name in table.columns]
    _check_names(file, table.columns.tolist())
    if len(table) == 0:
        raise InputError(f"{file} has no rows, only the columns {few(table.columns.tolist())}: add rows.")
    return table.reset_index(drop=True)


def _separator(file: str, path: Path) -> str | None:
    """The separator of a text file; None for Parquet. Refuses anything but a readable file."""
    if path.is_dir():
        raise InputError(f"{file} is a folder: give a file that ends in one of {', '.join(_ENDINGS)}.")
    if not path.exists():
        raise InputError(
            f"{file}: no such file; give the path of a CSV, TSV or Parquet file.{home_hint(str(path))}"
        )
    if not os.access(path, os.R_OK):
        raise InputError(f"{file} may not be read by this user: change its permissions.")
    for ending, separator in _ENDINGS.items():
        if path.name.lower().endswith(ending):
            return separator
    raise InputError(f"{file}: the name must end in one of {', '.join(_ENDINGS)}.")


def _read_text(file: str, path: Path, separator: str, text_columns: Collection[str]) -> DataFrame:
    import pandas

    header = pandas.read_csv(path, sep=separator, header=None, nrows=1, dtype=str, na_filter=False)
    names = [str(name).strip() for name in header.iloc[0]]  # as written: pandas would number repeated names
    _check_names(file, names)
    if len(names) == 1:
        used = [word for sign, word in _OTHER_SEPARATORS.items() if sign in names[0]]
        if used:
            wanted = "tabs" if separator == "\t" else "commas"
            raise InputError(
                f"{file} has a single column {names[0]!r}, which looks like several that are separated by {used[0]}: "
                f"save the file with {wanted}, as its name says, or as Parquet."
            )
    with warnings.catch_warnings():
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        try:
            table = pandas.read_csv(
                path,
                sep=separator,
                index_col=False,  # otherwise extra values would replace the row numbers
                low_memory=False,  # otherwise the type of a column is guessed for each chunk of the file
                dtype={i: str for i, name in enumerate(names) if name in text_columns},
            )
        except pandas.errors.ParserWarning as warning:
            raise InputError(
                f"{file} has rows with more values than the header has names ({len(names)}): name every column."
            ) from warning
    _restore_large_integers(table, text_columns)
    # A row with too few values lacks the last one; others need no second look at the file.
    if len(names) > 1 and table.iloc[:, -1].isna().any():
        _report_short_rows(file, path, separator, len(names))
    return table


def _report_short_rows(file: str, path: Path, separator: str, n_names: int) -> None:
    """Name rows with fewer values than the header has names, and refuse a file that ends within a row."""
    try:
        short, is_cut = _short_rows(path, separator, n_names)
    except csv.Error:  # a value beyond the limit of Python's reader, which pandas does not have
        return
    if not short:
        return
    (line, n), (last, n_last) = short[0], short[-1]
    if is_cut:
        raise InputError(
            f"{file} is cut off: it ends within line {last:,}, which has {n_last} of {n_names} values. Copy or save it "
            "again, or delete that line."
        )
    if len(short) == 1:
        found = f"line {line:,} has {n} of {n_names} values"
    else:
        found = f"{len(short):,} lines have fewer values than the header, such as line {line:,} with {n} of {n_names}"
    from lightning.pytorch.utilities import rank_zero_info  # slow to import, and rarely needed

    rank_zero_info(f"{path}: {found}; the others count as missing.")


def _short_rows(path: Path, separator: str, n_names: int) -> tuple[list[tuple[int, int]], bool]:
    """Line and number of values of the rows with too few, and whether the file ends within such a row."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        short, number, line = [], 0, ""
        for number, line in enumerate(file, 1):
            if '"' in line:  # a value may hold separators and line breaks
                break
            n = line.count(separator) + 1
            if n < n_names and line.strip():
                short.append((number, n))
        else:
            return short, bool(short) and short[-1][0] == number and not line.endswith(("\n", "\r"))
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, delimiter=separator)
        short = [(rows.line_num, len(row)) for row in rows if 0 < len(row) < n_names]
        n_lines = rows.line_num
    return short, bool(short) and short[-1][0] == n_lines and not _ends_with_a_line(path, opened)


def _ends_with_a_line(path: Path, opened: Any) -> bool:
    last = b""
    with opened(path, "rb") as file:
        while block := file.read(1 << 20):
            last = block[-1:]
    return last in (b"\n", b"\r")


def _restore_large_integers(table: DataFrame, text_columns: Collection[str]) -> None:
    """Turn columns of integers beyond 64 bits into integers, in place; pandas before 3 leaves them as text."""
    for name in table.columns:
        if table[name].dtype != object or str(name).strip() in text_columns:
            continue
        values = table[name].dropna()
        if len(values) > 0 and isinstance(values.iloc[0], str) and values.str.fullmatch(r"[+-]?\d+").all():
            table[name] = table[name].map(int, na_action="ignore")


def _check_names(file: str, names: Sequence[str]) -> None:
    twice = [name for name, n in Counter(names).items() if n > 1 and name]
    if twice:
        raise InputError(f"{file} has several columns with the name {few(twice)}: give each its own name.")
