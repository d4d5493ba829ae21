"""Tables for trees: numbers, categories as numbers, and a split that keeps equal rows together."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.data.table_labels import label_classes, label_key
from pauc_lightning.data.table_reader import few, read_table
from pauc_lightning.errors import InputError

if TYPE_CHECKING:
    from pandas import Series  # type: ignore[import-untyped]  # ships no types

TEST, VALIDATION = 0.15, 0.15
"""Shares of the rows, as everywhere in the project."""


class Part(NamedTuple):
    """Rows of a table."""

    inputs: NDArray[np.float32]
    target: NDArray[np.int64]


class Parts(NamedTuple):
    """A table's three parts."""

    train: Part
    validation: Part
    test: Part


@dataclass(frozen=True)
class Table:
    """A table of numbers.

    Args:
        name: Its name in the results.
        inputs: Shape ``(rows, columns)``; NaN where a value is missing, which trees understand.
        target: 0 or 1, shape ``(rows,)``.
    """

    name: str
    inputs: NDArray[np.float32]
    target: NDArray[np.int64]

    @property
    def fingerprint(self) -> str:
        """A checksum of all values."""
        digest = hashlib.sha256(np.ascontiguousarray(self.inputs).tobytes())
        digest.update(self.target.tobytes())
        return digest.hexdigest()[:16]

    def split(self, seed: int, train_rows: int | None) -> Parts:
        """Split at random into 0.7, 0.15 and 0.15 of the rows of each class, equal rows together.

        Args:
            seed: Decides the split.
            train_rows: At most so many rows are trained on, drawn at random; None means all.
        """
        random = np.random.default_rng(seed)
        parts = _assign(_groups(self.inputs), self.target, random)
        train, validation, test = (random.permutation(np.flatnonzero(parts == part)) for part in range(3))
        found = Parts(*(Part(self.inputs[r], self.target[r]) for r in (train[:train_rows], validation, test)))
        for word, part in zip(("training", "validation", "test"), found, strict=True):
            if len(np.unique(part.target)) < 2:
                raise InputError(
                    f"the {word} part of {self.name} (seed {seed}) lacks a class, with {int(part.target.sum())} "
                    f"positives among {len(part.target)} rows: use a table with more positives."
                )
        return found


def _groups(inputs: NDArray[np.float32]) -> NDArray[np.int64]:
    """The same number for rows that are equal in every column."""
    rows = np.ascontiguousarray(inputs + 0.0)  # -0.0 becomes 0.0, which it equals
    _, groups = np.unique(rows.view(np.dtype((np.void, rows.strides[0])))[:, 0], return_inverse=True)
    return groups.astype(np.int64)


def _assign(
    groups: NDArray[np.int64], target: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """The part of each row: 0, 1 or 2; groups with positives are dealt out by their number, apart from the others."""
    sizes, positives = np.bincount(groups), np.bincount(groups, weights=target)
    part_of = np.empty(len(sizes), dtype=np.int64)
    for is_kind, counts in ((positives > 0, positives), (positives == 0, sizes)):
        order = random.permutation(np.flatnonzero(is_kind))
        before = np.cumsum(counts[order]) - counts[order]
        share = before / max(1, counts[order].sum())
        part_of[order] = np.searchsorted([1 - VALIDATION - TEST, 1 - TEST], share, side="right")
    return part_of[groups]


def load_table(path: Path, label: str) -> Table:
    """Read a CSV, TSV or Parquet file; columns of text become the numbers of their categories.

    Args:
        path: The file.
        label: The column with the labels 0 and 1.
    """
    table = read_table("--data", path)
    if label not in table.columns:
        raise InputError(
            f"`--label {label}` is not a column of {path}: it has {few(table.columns.tolist())}."
        )
    classes, values = label_classes(table[label], label, str(path))
    if [label_key(value) for value in values] != [0.0, 1.0]:
        raise InputError(
            f"the label {label!r} of {path} has the values {few(values)}: it must have 0 and 1; add such a column to "
            "the file, and name it with --label."
        )
    inputs = table.drop(columns=label)
    if inputs.shape[1] == 0:
        raise InputError(f"{path} has no columns besides the label {label!r}: add some.")
    columns = [_numbers(inputs[name]) for name in inputs]
    return Table(path.stem, np.stack(columns, axis=1), classes)


def _numbers(column: Series[Any]) -> NDArray[np.float32]:
    import pandas

    if not pandas.api.types.is_numeric_dtype(column):
        codes: NDArray[Any] = column.astype("category").cat.codes.to_numpy()
        return np.where(codes < 0, np.nan, codes).astype(np.float32)
    values: NDArray[np.float32] = column.to_numpy(dtype=np.float32, na_value=np.nan)
    return values


def made_up_table(rows: int = 12_000) -> Table:
    """Two kinds of positives, one easy to find and one that hides among hard negatives, for trying the command.

    Args:
        rows: Their number; one in twenty is positive.
    """
    random = np.random.default_rng(0)
    inputs = random.standard_normal((rows, 8)).astype(np.float32)
    target = (random.random(rows) < 0.05).astype(np.int64)
    is_near = random.random(rows) < np.where(target == 1, 0.5, 0.05)
    inputs[:, 0] += 2 * target * ~is_near + 2.5 * is_near
    inputs[:, 1] *= np.where((target == 1) & is_near, 0.3, 1.0)
    inputs[:, 2] += target * inputs[:, 1]
    return Table("made_up", inputs, target)
