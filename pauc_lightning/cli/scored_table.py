"""Scores and labels from a table that another program wrote, or from the test of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.cli.nearest import nearest
from pauc_lightning.data.table_reader import few, read_table
from pauc_lightning.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame, Series  # type: ignore[import-untyped]  # ships no types


@dataclass(frozen=True)
class ScoredTable:
    """The columns of a table that an evaluation needs.

    Args:
        label: 1 for a positive, 0 for a negative.
        scores: The scores of each model, by the name of the column.
        group: The group of each row; None if there are none.
    """

    label: NDArray[np.int64]
    scores: Mapping[str, NDArray[np.float64]]
    group: NDArray[Any] | None


def read_scored_table(
    argument: str,
    path: Path,
    label: str,
    scores: Sequence[str],
    group: str | None = None,
    positive: str | None = None,
) -> ScoredTable:
    """Read labels and scores from a CSV, TSV or Parquet file.

    Args:
        argument: The argument that names the file, for messages.
        path: The file.
        label: The column of the labels.
        scores: The columns of the scores.
        group: The column of the groups.
        positive: The label of the positives, as text; None for labels 0 and 1.

    Raises:
        InputError: If a column is missing, or is to be both label and score; if a value is missing or no number, a
            label is neither, or a class has no row.
    """
    file = f"`{argument}={path}`"
    if label in scores:
        raise InputError(
            f"the column {label!r} of {file} holds the labels, so it cannot be a score: name the column of a model's "
            "scores."
        )
    table = read_table(argument, path, [label] if positive is not None else [])
    options = ("--score", *["--against"] * (len(scores) - 1))  # the other model's column comes second
    for option, name in (("--label", label), *zip(options, scores, strict=True), ("--group", group)):
        if name is not None and name not in table.columns:
            known = [str(column) for column in table.columns]
            raise InputError(
                f"{file} has no column {name!r}.{nearest(name, known)} It has {few(known)}: give one with {option}."
            )
    labels = _labels(file, table, label, positive)
    _check_classes(file, labels, label)
    return ScoredTable(
        labels,
        {name: _numbers(file, table[name], name) for name in scores},
        None if group is None else _complete(file, table[group], group).to_numpy(),
    )


def _labels(file: str, table: DataFrame, name: str, positive: str | None) -> NDArray[np.int64]:
    column = _complete(file, table[name], name)
    if positive is not None:
        is_positive = column.astype(str).str.strip() == positive
        values = sorted(set(column.astype(str).str.strip()))
        if not is_positive.any():
            raise InputError(
                f"`--positive {positive}`: the column {name!r} of {file} has no such value, but {few(values)}."
            )
        return np.asarray(is_positive, np.int64)
    values = sorted(set(column.tolist()), key=str)
    if not set(values) <= {0, 1}:
        raise InputError(
            f"the label {name!r} of {file} must be 0 or 1, got {few(values)}: say which value is the positive one "
            "with --positive."
        )
    return np.asarray(column, np.int64)


def _check_classes(file: str, labels: NDArray[np.int64], name: str) -> None:
    for kind, value in (("positive", 1), ("negative", 0)):
        if not (labels == value).any():
            raise InputError(
                f"the label {name!r} of {file} must have both classes, got no {kind} among {len(labels):,} rows: add "
                "rows of this class, or say with --positive which value is the positive one."
            )


def _numbers(file: str, column: Series[Any], name: str) -> NDArray[np.float64]:
    values = _complete(file, column, name)
    try:
        numbers = np.asarray(values, np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(
            f"the column {name!r} of {file} must hold numbers ({error}): give another one."
        ) from error
    infinite = ~np.isfinite(numbers)
    if infinite.any():
        raise InputError(
            f"the column {name!r} of {file} is infinite in {int(infinite.sum())} of {len(numbers)} rows, first in row "
            f"{int(infinite.argmax())} (counted from 0): the model may have diverged. Correct these scores, or leave "
            "the rows out."
        )
    return numbers


def _complete(file: str, column: Series[Any], name: str) -> Series[Any]:
    missing = column.isna()
    if missing.any():
        raise InputError(
            f"the column {name!r} of {file} has no value in {int(missing.sum())} of {len(column)} rows, first in row "
            f"{int(missing.to_numpy().argmax())} (counted from 0): fill them in, or leave these rows out."
        )
    return column
