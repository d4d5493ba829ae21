"""Scores from elsewhere: arrays, or a file with a column of labels and one of scores."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pauc_lightning.cli.nearest import nearest
from pauc_lightning.decisions import choose_operating_points, default_targets
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.inputs import as_tensors, check_tensors
from pauc_lightning.region import Region
from pauc_lightning.report.subject import Missing, Subject
from pauc_lightning.report.thresholds import thresholds_of
from pauc_lightning.run_files import SavedScores

ENDINGS = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class ScoredSamples:
    """Scores of any model, for a report.

    Args:
        name: The model's name in the report.
        score: Finite scores, one per sample; higher means more positive.
        label: Labels 0 and 1, one per sample.
        place: Where they come from, as the report says it.
    """

    name: str
    score: ArrayLike
    label: ArrayLike
    place: str = ""

    def subject(self, region: Region, confidence: float = 0.95) -> Subject:
        """Judge them in a region.

        Raises:
            InputError: If scores and labels do not fit together, or a class is missing.
        """
        scores, labels = as_tensors(self.score, self.label)
        try:
            check_tensors(scores, labels)
        except InputError as error:
            raise InputError(f"`{self.name}`: {error}") from error
        saved = SavedScores.of(scores.flatten(), labels.flatten())
        n_pos = int(saved.label.sum())
        if not 2 <= n_pos <= len(saved) - 2:
            few = "positives" if n_pos < 2 else "negatives"
            raise InputError(
                f"`{self.name}` has {min(n_pos, len(saved) - n_pos)} {few} among {len(saved)} samples, too few for a "
                "report: add samples. Positives have the label 1."
            )
        points = choose_operating_points(saved.score, saved.label, default_targets(region.max_fpr))
        return Subject(
            name=self.name,
            place=self.place,
            region=region,
            scores=saved,
            thresholds=thresholds_of(points),
            calibration=Missing(""),
            confidence=confidence,
        )


def read_scored_samples(path: Path, label: str = "label", score: str = "score") -> ScoredSamples:
    """Read a CSV, TSV or Parquet file, such as ``pauc predict`` writes.

    Args:
        path: The file.
        label: The column of the labels, 0 and 1.
        score: The column of the scores.

    Raises:
        InputError: If the file cannot be read, or lacks a column; the sentence names those that it has.
    """
    columns = (
        _read_parquet(path, (label, score)) if path.suffix == ".parquet" else _read_text(path, (label, score))
    )
    return ScoredSamples(
        path.stem, _numbers(path, score, columns[score]), _numbers(path, label, columns[label]), str(path)
    )


def _read_text(path: Path, wanted: tuple[str, str]) -> Mapping[str, list[Any]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            names = next(rows, [])
            at = [_position(path, names, name) for name in wanted]
            columns: tuple[list[str], list[str]] = ([], [])
            for row in rows:
                if row:  # an empty line, as at the end of some files
                    for column, position in zip(columns, at, strict=True):
                        column.append(row[position] if position < len(row) else "")
    except OSError as error:
        raise InputError(
            f"`{path}` cannot be read: {error.strerror}. Check the path and its permissions."
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"`{path}` is not a text file of columns ({error}): give a CSV file.") from error
    return dict(zip(wanted, columns, strict=True))


def _read_parquet(path: Path, wanted: tuple[str, str]) -> Mapping[str, list[Any]]:
    try:
        from pyarrow import ArrowException, parquet  # type: ignore[import-untyped]
    except ImportError:
        raise InputError(
            f"`{path}` needs pyarrow: pip install 'pauc-lightning[tabular]', or give a CSV file."
        ) from None
    try:
        table = parquet.read_table(path)
    except (OSError, ArrowException) as error:
        raise InputError(
            f"`{path}` cannot be read as a Parquet file ({error}): give another file."
        ) from error
    return {name: table.column(_position(path, table.column_names, name)).to_pylist() for name in wanted}


def _position(path: Path, names: list[str], name: str) -> int:
    if name in names:
        return names.index(name)
    close = nearest(name, names)
    shown = ", ".join(islice(names, 12)) or "none"
    raise InputError(
        f"`{path}` has no column `{name}`.{close} Its columns are {shown}. Name the right ones with --label and "
        "--score."
    )


def _numbers(path: Path, name: str, values: Iterable[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    numbers = []
    for row, value in enumerate(values, start=1):
        try:
            numbers.append(float(value))
        except (TypeError, ValueError):
            raise InputError(
                f"`{path}`: row {row} of column `{name}` is {value!r}, not a number. Labels are 0 and 1; leave out "
                "rows without a label or a score."
            ) from None
    return np.array(numbers, np.float64)
