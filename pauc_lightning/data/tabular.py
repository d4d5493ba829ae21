"""Tables: CSV or Parquet files with a label column."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch
from lightning.pytorch.utilities import rank_zero_info
from numpy.typing import NDArray
from torch import Tensor

from pauc_lightning.data.base import LongTailDataModule, Source
from pauc_lightning.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame, Series  # type: ignore[import-untyped]  # ships no types

Value = bool | int | float | str

_MOST_CATEGORIES = 1000
_SHOWN = 10


class InputColumn(NamedTuple):
    """A column of the inputs: a column of numbers, or one category of a column of categories."""

    name: str
    category: str | None
    values: NDArray[np.float32]


class TabularLT(LongTailDataModule):
    """The rows of a CSV or Parquet file, binary.

    Numeric columns are standardised with the mean and the standard deviation of the training part. A categorical
    column becomes a 0/1 column per category, which are all 0 for a category that the training part does not
    have. Needs pandas: ``pip install 'pauc-lightning[tabular]'``.

    Args:
        path: The file, ending in .csv, .tsv or .parquet; text files may be compressed (.csv.gz).
        label: Name of the column with the label.
        positive_values: Values of the label that are positive; all others are negative. null means 1 (or true)
            in a column of 0 and 1.
        ignore: Columns that are neither label nor input, such as identifiers.
        categorical: Columns of numbers that are names of categories; columns of text are so anyway.
        missing: What happens to missing values: "error" names the columns that have any; "impute" puts the
            training mean in numeric columns and leaves all categories 0.
        imbalance_ratio: Size of the last class over that of the first, in (0, 1], where the classes are the
            values of the label in ascending order. null keeps every row.
        kwargs: What every long-tailed data module takes.
    """

    def __init__(
        self,
        path: str,
        label: str,
        positive_values: Sequence[Value] | None = None,
        ignore: Sequence[str] = (),
        categorical: Sequence[str] = (),
        missing: Literal["error", "impute"] = "error",
        imbalance_ratio: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__((), imbalance_ratio, **kwargs)
        if missing not in ("error", "impute"):
            raise InputError(f'`missing` must be "error" or "impute", got {missing!r}.')
        self.path = path
        self.label = label
        self.positive_values = positive_values
        self.ignore = tuple(ignore)
        self.categorical = tuple(categorical)
        self.missing = missing

    # ------------------------------------------------------------------ reading

    def load_source(self) -> Source:
        """The inputs as float32, not yet standardised, of shape ``(n, number of input columns)``."""
        table = _read_table(Path(self.path))
        table.columns = [str(name) for name in table.columns]
        self._check_names(table.columns.tolist())
        labels, values = self._labels(table[self.label])
        table = table.drop(columns=[self.label, *self.ignore])
        if table.shape[1] == 0:
            raise InputError(f"`path={self.path}` has no input columns beside the label {self.label!r}.")
        self._report_missing(table)
        columns = [column for name in table.columns for column in self._encode(table[name])]
        inputs = np.stack([column.values for column in columns], axis=1)
        self._is_category = torch.tensor([column.category is not None for column in columns])
        self.column_names = [
            column.name if column.category is None else f"{column.name}={column.category}"
            for column in columns
        ]
        return Source(torch.from_numpy(inputs), labels, [str(value) for value in values])

    def _check_names(self, present: list[str]) -> None:
        for argument, names in (
            ("label", (self.label,)),
            ("ignore", self.ignore),
            ("categorical", self.categorical),
        ):
            unknown = [name for name in names if name not in present]
            if unknown:
                raise InputError(
                    f"`{argument}` names columns {unknown} that {self.path} does not have: it has {_few(present)}."
                )

    def _labels(self, column: Series[Any]) -> tuple[NDArray[np.int64], list[Value]]:
        """The class of every row, and the label's values in the order of their classes."""
        n_missing = int(column.isna().sum())
        if n_missing:
            raise InputError(
                f"the label {self.label!r} is missing in {n_missing} of {len(column)} rows of {self.path}: remove "
                "these rows or fill them in."
            )
        rows: list[Value] = column.tolist()
        values = sorted(set(rows), key=lambda value: (isinstance(value, str), value))
        classes = {value: i for i, value in enumerate(values)}
        return np.array([classes[value] for value in rows], dtype=np.int64), values

    @cached_property
    def positive_ids(self) -> tuple[int, ...]:
        """The classes that are positive, from the values that the user gave."""
        names = list(self.source.class_names)
        keys = [_key(name) for name in names]
        if self.positive_values is None:
            if keys != [0.0, 1.0]:
                raise InputError(
                    f"`positive_values` is needed, because the label {self.label!r} has other values than 0 and 1: "
                    f"say which of {_few(names)} are positive."
                )
            return (1,)
        unknown = [value for value in self.positive_values if _key(value) not in keys]
        if unknown:
            raise InputError(
                f"`positive_values` has {unknown}, which the label {self.label!r} never is: choose from {_few(names)}."
            )
        return tuple(keys.index(_key(value)) for value in self.positive_values)

    def _encode(self, column: Series[Any]) -> list[InputColumn]:
        """The input columns that a column of the table becomes; a missing number is NaN."""
        from pandas import CategoricalDtype
        from pandas.api import types  # type: ignore[import-untyped]

        name = str(column.name)
        if types.is_numeric_dtype(column) and name not in self.categorical:
            numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
            if np.isinf(numbers).any():
                raise InputError(
                    f"column {name!r} of {self.path} has infinite values: replace them, or name the column in `ignore`."
                )
            # Near zero float32 can tell apart what is close together, such as two moments of this year. Whatever
            # is subtracted here, standardising gives the same.
            middle = np.nanmedian(numbers) if not np.isnan(numbers).all() else 0.0
            return [InputColumn(name, None, (numbers - middle).astype(np.float32))]
        is_text = types.is_string_dtype(column) or types.is_object_dtype(column)
        if not (is_text or isinstance(column.dtype, CategoricalDtype) or name in self.categorical):
            raise InputError(
                f"column {name!r} of {self.path} has the type {column.dtype}, which is neither a number nor a "
                "category: convert it, or name it in `ignore`."
            )
        text = column.astype("string")
        categories: list[str] = sorted(text.dropna().unique().tolist())
        if len(categories) > _MOST_CATEGORIES:
            raise InputError(
                f"column {name!r} of {self.path} has {len(categories)} categories, more than {_MOST_CATEGORIES}: if "
                "it is an identifier, name it in `ignore`."
            )
        return [
            InputColumn(name, category, (text == category).fillna(False).to_numpy(dtype=np.float32))
            for category in categories
        ]

    def _report_missing(self, table: DataFrame) -> None:
        having = [f"{name} ({n})" for name, n in table.isna().sum().items() if n > 0]
        if not having:
            return
        found = f"of {len(table)} rows of {self.path}, values are missing in the columns {_few(having)}"
        if self.missing == "error":
            raise InputError(
                f"{found}: fill them in, name the columns in `ignore`, or set `missing: impute`, which puts the mean "
                "of the training part or no category."
            )
        rank_zero_info(
            f"{found[0].upper()}{found[1:]}: the mean of the training part or no category stands in."
        )

    # ------------------------------------------------------------------ scaling

    @cached_property
    def _statistics(self) -> tuple[Tensor, Tensor]:
        """What to subtract from each input column, and what to multiply it with then."""
        train = self.source.inputs[torch.from_numpy(self.split.train)].double()
        n = (~train.isnan()).sum(0).clamp(min=1)
        mean = train.nansum(0) / n
        std = ((train - mean).square().nansum(0) / n).sqrt()
        # Categories stay 0 and 1. What never changes in training says nothing about other rows.
        subtract = mean.where(~self._is_category, 0.0)
        multiply = torch.where(self._is_category, 1.0, 1 / std).where(std > 1e-12, 0.0)
        return subtract.float(), multiply.float()

    def eval_transform(self, input: Tensor) -> Tensor:
        """Rows with standardised numbers; a missing number is 0, the training mean."""
        subtract, multiply = (statistic.to(input.device) for statistic in self._statistics)
        return ((input - subtract) * multiply).nan_to_num()


def _read_table(path: Path) -> DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise InputError("TabularLT needs pandas: pip install 'pauc-lightning[tabular]'.") from error
    if not path.is_file():
        raise InputError(f"`path={path}`: no such file.")
    try:
        if path.suffix == ".parquet":
            return pandas.read_parquet(path)
        if path.name.endswith((".csv", ".csv.gz")):
            return pandas.read_csv(path)
        if path.name.endswith((".tsv", ".tsv.gz")):
            return pandas.read_csv(path, sep="\t")
    except (ValueError, OSError, ImportError) as error:
        raise InputError(f"`path={path}` cannot be read: {error}") from error
    raise InputError(f"`path={path}`: the name must end in .csv, .csv.gz, .tsv, .tsv.gz or .parquet.")


def _key(value: Value) -> float | str:
    """What labels are compared by: equal numbers are equal however they are written, and true is 1."""
    text = {"True": "1", "False": "0"}.get(str(value), str(value))
    try:
        return float(text)
    except ValueError:
        return text


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
