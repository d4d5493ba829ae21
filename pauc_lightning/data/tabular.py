"""Tables: CSV, TSV or Parquet files with a label column."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import torch
from lightning.pytorch.utilities import rank_zero_info
from numpy.typing import NDArray
from torch import Tensor

from pauc_lightning.arguments import check_choice
from pauc_lightning.data.base import LongTailDataModule
from pauc_lightning.data.groups import equal_rows, joined, numbered
from pauc_lightning.data.kept_sources import file_state, read_once
from pauc_lightning.data.source import NewData, Source
from pauc_lightning.data.table_encoding import TableEncoding
from pauc_lightning.data.table_labels import (
    UNKNOWN,
    Value,
    known_targets,
    label_classes,
    note_lookalikes,
    positive_classes,
)
from pauc_lightning.data.table_reader import few, read_table
from pauc_lightning.data.table_state import TableState, standardisation
from pauc_lightning.errors import InputError
from pauc_lightning.nearest import nearest

Values = list[Value] | tuple[Value, ...] | Value

Duplicates = Literal["ignore", "together"]

_TAKEN = ("index", "label", "score", "probability")


class TabularLT(LongTailDataModule):
    """The rows of a CSV or Parquet file, binary.

    Numeric columns are standardised with the mean and the standard deviation of the training part. A categorical
    column becomes one 0/1 input per category; all of them are 0 for a category that the training part does not
    have. Needs pandas: ``pip install 'pauc-lightning[tabular]'``.

    Args:
        path: The file, ending in .csv, .tsv or .parquet; text files may be compressed (.csv.gz).
        label: Name of the column with the label.
        positive_values: Values of the label that are positive; all others are negative. null means 1 (or true)
            in a column of 0 and 1.
        ignore: Columns that are neither label nor input, such as comments.
        id_column: A column that is not an input, but is copied to the predictions, such as a patient's number.
        categorical: Columns to treat as categories although they hold numbers or many different texts; columns with
            few different texts are categories anyway.
        missing: What happens to missing values: "error" refuses them and names the columns; "impute" uses the
            training mean in numeric columns and no category in categorical ones.
        missing_values: Values that stand for a missing one in any input column, such as unknown or -999, besides
            those that pandas recognises (an empty cell, NA, null, nan, ...).
        imbalance_ratio: Ratio of the last class's size to the first's, in (0, 1], where the classes are the
            values of the label in ascending order. null keeps every row.
        group_column: A column that is not an input and says which rows belong together, such as a patient's number or
            a day. The rows of a group are all in the training part, or all in the validation or test part.
        duplicates: "together" puts rows with equal inputs into the same part as well; "ignore" divides them like all
            others, which is right where equal rows are different cases. `pauc data` counts them.
        kwargs: Options of every long-tailed data module.
    """

    input_files: ClassVar = ("path",)

    def __init__(
        self,
        path: str,
        label: str,
        positive_values: Values | None = None,
        ignore: Values = (),
        id_column: str | None = None,
        categorical: Values = (),
        missing: Literal["error", "impute"] = "error",
        missing_values: Values = (),
        imbalance_ratio: float | None = None,
        group_column: str | None = None,
        duplicates: Duplicates = "ignore",
        **kwargs: Any,
    ) -> None:
        super().__init__((), imbalance_ratio, **kwargs)
        check_choice("duplicates", duplicates, get_args(Duplicates))
        if missing not in ("error", "impute"):
            raise InputError(f'`missing` must be "error" or "impute", got {missing!r}.')
        self.path = path
        self.label = label.strip()
        self.positive_values = None if positive_values is None else _as_tuple(positive_values)
        self.ignore = tuple(str(name).strip() for name in _as_tuple(ignore))
        self.id_column = None if id_column is None else id_column.strip()
        self.categorical = tuple(str(name).strip() for name in _as_tuple(categorical))
        self.missing: Literal["error", "impute"] = missing
        self.missing_values = _as_tuple(missing_values)
        self.group_column = None if group_column is None else group_column.strip()
        self.duplicates = duplicates
        self._check_roles()

    def _check_roles(self) -> None:
        for argument, names in (
            ("ignore", self.ignore),
            ("categorical", self.categorical),
            ("id_column", (self.id_column,)),
            ("group_column", (self.group_column,)),
        ):
            if self.label in names:
                raise InputError(
                    f"`{argument}` names {self.label!r}, which is the label: take it out of `{argument}`, or choose "
                    "another `label`."
                )
        for argument, name in (("id_column", self.id_column), ("group_column", self.group_column)):
            if name in self.categorical:
                raise InputError(
                    f"`categorical` names {name!r}, which is the `{argument}` and not an input: choose one."
                )
        if self.id_column in _TAKEN:
            raise InputError(
                f"`id_column={self.id_column}` is also the name of another column of the predictions "
                f"({', '.join(_TAKEN)}): rename it in the file."
            )

    # ------------------------------------------------------------------ reading

    def load_source(self) -> Source:
        """The encoded rows, float32 of shape ``(rows, inputs)``."""
        settings = (
            *(self.label, self.positive_values, self.ignore, self.id_column),
            *(self.categorical, self.missing, self.missing_values, self.group_column, self.duplicates),
        )
        key = (
            type(self),
            file_state(Path(self.path)),
            repr(settings),
        )  # 1 and True are equal, but not the same
        read, self._is_shared = read_once(key, self._read, _n_bytes)
        self._encoding, self._ids = read.encoding, read.ids
        return read.source

    def _read(self) -> _Read:
        as_written = [name for name in (self.id_column, self.group_column) if name is not None]
        table = read_table("path", Path(self.path), as_written)
        self._check_names(table.columns.tolist())
        labels, values = label_classes(table[self.label], self.label, self.path)
        positive = positive_classes(
            values, self.positive_values, self.label
        )  # fails before inputs are encoded
        note_lookalikes(labels, values, positive, self.label, self.path)
        ids = None if self.id_column is None else _identifiers(table[self.id_column])
        groups = None if self.group_column is None else self._groups(table[self.group_column])
        no_inputs = list(dict.fromkeys([self.label, *self.ignore, *as_written]))
        table = table.drop(columns=no_inputs)
        if table.shape[1] == 0:
            raise InputError(f"{self.path} has no input columns besides {few(no_inputs)}: add some.")
        encoding = TableEncoding.of(table, self.path, self.categorical, self.missing, self.missing_values)
        inputs = encoding.encode(table, self.path)
        rows = torch.from_numpy(inputs)
        if self.duplicates == "together":
            groups = equal_rows(rows) if groups is None else joined(groups, equal_rows(rows))
        return _Read(Source(rows, labels, values, groups=groups), encoding, ids)

    def _groups(self, column: Any) -> NDArray[np.int64]:
        """The number of each row's group."""
        n_missing = int(column.isna().sum())
        if n_missing:
            raise InputError(
                f"`group_column={self.group_column}` is missing in {n_missing} of {len(column)} rows of {self.path}: "
                "fill it in, with a value of its own for a row that belongs to no other, or remove these rows."
            )
        return numbered(column.tolist())

    def _check_names(self, present: list[str]) -> None:
        for argument, names in (
            ("label", (self.label,)),
            ("ignore", self.ignore),
            ("categorical", self.categorical),
            ("id_column", () if self.id_column is None else (self.id_column,)),
            ("group_column", () if self.group_column is None else (self.group_column,)),
        ):
            unknown = [name for name in names if name not in present]
            if unknown:
                raise InputError(
                    f"`{argument}` names columns {unknown} that {self.path} does not have: it has {few(present)}."
                    f"{nearest(unknown[0], present)}"
                )

    @cached_property
    def positive_ids(self) -> tuple[int, ...]:
        """The positive classes, from the label values that the user gave."""
        return positive_classes(self.source.class_names, self.positive_values, self.label)

    def notes(self) -> list[str]:
        """The inputs, the groups, how many rows have equal inputs, and what becomes of these."""
        notes = [self.table_state.encoding.describe()]
        if self.group_column is not None:
            notes += super().notes()
        inputs = self.source.inputs
        assert isinstance(inputs, Tensor)
        used = self.used
        twins = np.full(len(inputs), -1)
        twins[used] = equal_rows(inputs[torch.from_numpy(used)])
        _, sizes = np.unique(twins[used], return_counts=True)
        n_equal = int(sizes[sizes > 1].sum())
        if n_equal == 0:
            return [*notes, "Equal rows: no two rows have the same inputs."]
        text = (
            f"Equal rows: {n_equal:,} of {len(used):,} rows have the same inputs as another one; the most frequent "
            f"inputs are those of {int(sizes.max()):,} rows."
        )
        if self.duplicates == "together":
            return [*notes, f"{text} Those with the same inputs are in the same part."]
        held_out = np.concatenate([self.split.val, self.split.test])
        n_known = int(np.isin(twins[held_out], twins[self.split.train]).sum())
        return [
            *notes,
            f"{text} {n_known:,} of the {len(held_out):,} validation and test rows equal a training row. If they are "
            "copies of one case, keep them in one part with --data.duplicates=together.",
        ]

    @property
    def column_names(self) -> list[str]:
        """Names of the inputs: ``column`` or ``column=category``."""
        return self.table_state.encoding.input_names

    def prediction_columns(self, index: NDArray[np.int64]) -> dict[str, Sequence[Any]]:
        """The row in the file, and the identifier if there is an ``id_column``."""
        columns = super().prediction_columns(index)
        if self.predict_input is None and self.id_column is not None:
            ids = self._ids
            assert ids is not None
            columns[self.id_column] = [ids[row] for row in columns["index"]]
        return columns

    # ------------------------------------------------------------------ scaling

    @cached_property
    def table_state(self) -> TableState:
        """Columns, categories and scaling, from the training part or from the run that trained the model."""
        if self.saved_state is not None:
            return TableState.from_json(self.saved_state, str(self.preprocessing))
        inputs = self.source.inputs
        assert isinstance(inputs, Tensor)
        names = self.source.class_names
        return TableState(
            self._encoding,
            *standardisation(inputs, torch.from_numpy(self.split.train), self._encoding.is_category),
            self.label,
            tuple(names),
            tuple(names[i] for i in self.positive_ids),
            self.id_column,
        )

    @cached_property
    def inputs(self) -> Tensor:
        """The standardised inputs of all rows; batches are slices of them.

        They replace the raw ones in memory, unless other runs of this process need those as well.
        """
        raw = self.source.inputs
        assert isinstance(raw, Tensor)
        return self.table_state.standardise_(raw.clone() if self._is_shared else raw)

    # ------------------------------------------------------------------ new data

    def training_state(self) -> dict[str, Any]:
        """Add columns, categories, scaling and label to the state that every data module keeps."""
        return {**super().training_state(), **self.table_state.to_json()}

    def load_new(self, path: Path) -> NewData:
        """All rows of another file, encoded as the training file was; its label is used if it has one."""
        state = self.table_state
        columns = state.encoding.columns
        id_column = self.id_column or state.id_column
        as_written = state.encoding.text_columns | ({id_column} if id_column is not None else set())
        table = read_table("input", path, as_written)
        names = [column.name for column in columns]
        state.encoding.check_has(table.columns, str(path))
        has_id = id_column is not None and id_column in table.columns
        self._check_id(id_column, has_id, path)
        others = [
            name for name in table.columns if name not in (*names, state.label, id_column, self.group_column)
        ]
        if others:
            rank_zero_info(f"{path}: the columns {few(others)} are not inputs of this model and are ignored.")
        if state.label in table.columns:
            rank_zero_info(
                f"{path}: the label {state.label!r} is not an input; it is only copied to the predictions."
            )
            targets = known_targets(table[state.label], state.label_values, state.positive_values, str(path))
        else:
            targets = np.full(len(table), UNKNOWN, dtype=np.int64)
        inputs = state.standardise_(torch.from_numpy(state.encoding.encode(table, str(path))))
        return NewData(inputs, targets, {str(id_column): _identifiers(table[id_column])} if has_id else {})

    def _check_id(self, id_column: str | None, has_id: bool, path: Path) -> None:
        if id_column is None or has_id:
            return
        if id_column != self.table_state.id_column:
            raise InputError(f"`id_column={id_column}` is not a column of {path}: choose one that it has.")
        rank_zero_info(f"{path} lacks the column {id_column!r}, so the predictions have row numbers only.")


class _Read(NamedTuple):
    """A table as it was read and encoded."""

    source: Source
    encoding: TableEncoding
    ids: list[Any] | None


def _n_bytes(read: _Read) -> int:
    inputs = read.source.inputs
    assert isinstance(inputs, Tensor)
    return inputs.nbytes + read.source.labels.nbytes + 100 * len(read.ids or ())


def _as_tuple(values: Values) -> tuple[Value, ...]:
    """One or several values as a tuple."""
    return tuple(values) if isinstance(values, (list, tuple)) else (values,)


def _identifiers(column: Any) -> list[Any]:
    """The values of a column, None where one is missing."""
    values: list[Any] = column.astype(object).where(column.notna(), None).tolist()
    return values
