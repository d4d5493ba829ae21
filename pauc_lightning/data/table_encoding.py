"""The encoding of a table's columns as inputs: chosen for the training file, applied to every file.

scikit-learn's ColumnTransformer with OneHotEncoder and StandardScaler is not used: it needs three times the memory (867
instead of 287 MB beyond the table on KDD Census-Income), stores a pickle instead of JSON, and replaces no check below.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from lightning.pytorch.utilities import rank_zero_info
from numpy.typing import NDArray

from pauc_lightning.data.table_labels import Value, label_key
from pauc_lightning.data.table_reader import few
from pauc_lightning.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame, Series  # type: ignore[import-untyped]  # ships no types

Missing = Literal["error", "impute"]

_MOST_CATEGORIES = 1000
LARGEST = 1e38
"""Largest number in a column: numbers up to this size, and the difference of two of them, fit into float32."""
# Text with more distinct values than both limits is taken for names or free text, unless declared categorical.
_FEW_VALUES = 20
_ROWS_PER_VALUE = 5
# Shares of values that read as numbers from which a text column counts as numbers with mistakes.
_NEARLY_ALL = 0.9
_MOST = 0.5  # if the column has many distinct values
_IDENTIFIER = re.compile(r"(^|.*[\W_])(id|ids|uuid|key|index|row|nr|no|number)|Unnamed: 0", re.IGNORECASE)


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers; one input.

    Attributes:
        name: Its name.
        middle: The median, subtracted before the conversion to float32, which is most precise near 0.
    """

    name: str
    middle: float

    @property
    def input_names(self) -> list[str]:
        """The name of the input."""
        return [self.name]


@dataclass(frozen=True)
class CategoryColumn:
    """A column of categories; a 0/1 input for each.

    Attributes:
        name: Its name.
        categories: The categories as text, in the order of their inputs.
        is_text: Whether the file holds text, so that 01 and 1 are two categories, or numbers, so that they are one.
    """

    name: str
    categories: tuple[str, ...]
    is_text: bool

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [f"{self.name}={category}" for category in self.categories]


Column = NumberColumn | CategoryColumn


class _NewCategories(NamedTuple):
    name: str
    n_rows: int
    values: list[str]


@dataclass(frozen=True)
class TableEncoding:
    """Turns tables into inputs in the same way for every file.

    Attributes:
        columns: The columns that are inputs, in the order of the inputs.
        missing: "error" refuses missing values; "impute" encodes a number as NaN and a category as none.
        missing_values: Values that stand for a missing one.
    """

    columns: tuple[Column, ...]
    missing: Missing
    missing_values: tuple[Value, ...] = ()

    @classmethod
    def of(
        cls,
        table: DataFrame,
        file: str,
        categorical: Collection[str],
        missing: Missing,
        missing_values: Sequence[Value],
    ) -> TableEncoding:
        """Choose the encoding of a table.

        Args:
            table: The columns that are to be inputs.
            file: The file's name, for messages.
            categorical: Columns that are categories whatever they contain.
            missing: See the attributes.
            missing_values: See the attributes.
        """
        absent = _Absent(missing_values)
        columns = tuple(_choose(absent.clear(table[name]), file, name in categorical) for name in table)
        return cls(columns, missing, tuple(missing_values))

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs: ``column`` or ``column=category``."""
        return [name for column in self.columns for name in column.input_names]

    @property
    def is_category(self) -> NDArray[np.bool_]:
        """Which inputs stand for a category."""
        widths = [len(column.input_names) for column in self.columns]
        return np.repeat([isinstance(column, CategoryColumn) for column in self.columns], widths)

    @property
    def text_columns(self) -> set[str]:
        """Columns that must be read as they are written, so that 007 does not become 7."""
        return {
            column.name for column in self.columns if isinstance(column, CategoryColumn) and column.is_text
        }

    @property
    def absent_numbers(self) -> list[float]:
        """Numbers that stand for a missing one."""
        return _Absent(self.missing_values).numbers

    @property
    def absent_texts(self) -> list[str]:
        """Texts that stand for a missing one."""
        return sorted(_Absent(self.missing_values).texts)

    def describe(self) -> str:
        """One sentence with the columns of numbers, and of categories with the number of these.

        Example:
            >>> columns = NumberColumn("age", 0.0), CategoryColumn("sex", ("f", "m"), is_text=True)
            >>> TableEncoding(columns, "error", ()).describe()
            'Inputs: 3, from the numbers age and the categories sex (2).'
        """
        kinds = {
            "numbers": [column.name for column in self.columns if isinstance(column, NumberColumn)],
            "categories": [
                f"{column.name} ({len(column.categories)})"
                for column in self.columns
                if isinstance(column, CategoryColumn)
            ],
        }
        listed = " and ".join(f"the {kind} {', '.join(names)}" for kind, names in kinds.items() if names)
        return f"Inputs: {len(self.input_names)}, from {listed}."

    def check_has(self, names: Collection[str], file: str) -> None:
        """Refuse a table that lacks a column of the encoding.

        Args:
            names: The columns that the table has.
            file: The file's name, for messages.
        """
        lacking = [column.name for column in self.columns if column.name not in names]
        if lacking:
            raise InputError(
                f"{file} lacks the column{'s' if len(lacking) > 1 else ''} {few(lacking)} that the model was trained "
                "with: add what is missing, or train without it (`ignore`)."
            )

    def encode(self, table: DataFrame, file: str) -> NDArray[np.float32]:
        """The inputs of all rows, of shape ``(rows, inputs)``, not yet standardised.

        Args:
            table: Has all columns of the encoding; others are ignored.
            file: The file's name, for messages.
        """
        inputs = np.zeros((len(table), len(self.input_names)), dtype=np.float32)
        absent = _Absent(self.missing_values)
        n_missing: dict[str, int] = {}
        new: list[_NewCategories] = []
        start = 0
        for column in self.columns:
            values = absent.clear(table[column.name])
            if isinstance(column, NumberColumn):
                numbers = _numbers(values, file)
                _refuse_infinite(numbers, column.name, file)
                inputs[:, start] = numbers - column.middle
                is_missing = np.isnan(numbers)
            else:
                codes, is_missing, unknown = _codes(values, column, file)
                rows = np.flatnonzero(codes >= 0)
                inputs[rows, start + codes[rows]] = 1
                if unknown is not None:
                    new.append(unknown)
            if is_missing.any():
                n_missing[column.name] = int(is_missing.sum())
            start += len(column.input_names)
        self._report_missing(n_missing, len(table), file)
        _report_new(new, file)
        return inputs

    def _report_missing(self, n_missing: dict[str, int], n_rows: int, file: str) -> None:
        if not n_missing:
            return
        having = few([f"{name} ({n})" for name, n in n_missing.items()])
        found = f"of {n_rows} rows of {file}, values are missing in the columns {having}"
        if self.missing == "error":
            raise InputError(
                f"{found}: fill them in, or train with `missing: impute` (--data.missing impute), which uses the "
                "mean of the training part or no category, or with the columns in `ignore`."
            )
        rank_zero_info(
            f"{found[0].upper()}{found[1:]}: they are replaced by the mean of the training part or no category."
        )


class _Absent:
    """Finds the values that stand for a missing one."""

    def __init__(self, values: Sequence[Value]) -> None:
        keys = [label_key(value) for value in values]
        self.texts = {str(value).strip() for value in values}
        self.numbers = [key for key in keys if isinstance(key, float)]

    def clear(self, column: Series[Any]) -> Series[Any]:
        """Mark these values as missing; a text column becomes numeric if all its other values are numbers."""
        import pandas

        if not self.texts:
            return column
        if _kind(column) == "number":
            return column.mask(column.isin(self.numbers)) if self.numbers else column
        text = column.astype("string")
        is_absent = text.str.strip().isin(self.texts)
        if not is_absent.any():
            return column
        left = column.mask(is_absent)
        numbers = pandas.to_numeric(text.mask(is_absent), errors="coerce")
        return numbers if bool((numbers.isna() == left.isna()).all()) else left


def column_numbers(column: Series[Any], encoding: TableEncoding) -> NDArray[np.float64]:
    """The column as numbers, NaN where they are missing; numbers that stand for a missing one stay as they are."""
    return _numbers(
        column if _kind(column) == "number" else _Absent(encoding.missing_values).clear(column), "the table"
    )


def column_texts(column: Series[Any], encoding: TableEncoding) -> NDArray[np.object_]:
    """The column as text, as categories are written; "" where a value is missing."""
    known = _Absent(encoding.missing_values).clear(column)
    texts: NDArray[np.object_] = _texts(known).fillna("").to_numpy(dtype=object)
    return texts


def _kind(column: Series[Any]) -> Literal["number", "text", "other"]:
    from pandas import CategoricalDtype, StringDtype
    from pandas.api import types  # type: ignore[import-untyped]

    if types.is_numeric_dtype(column) and not types.is_complex_dtype(column):
        return "number"
    if isinstance(column.dtype, (CategoricalDtype, StringDtype)):
        return "text"
    return {
        "string": "text",
        "boolean": "text",  # with missing values, or it would be of a boolean type
        "empty": "text",
        "decimal": "number",
        "integer": "number",  # too large for 64 bits
        "floating": "number",
        "mixed-integer-float": "number",
    }.get(types.infer_dtype(column, skipna=True), "other")  # type: ignore[return-value]


def _choose(column: Series[Any], file: str, is_categorical: bool) -> Column:
    """The encoding of a column of the training file."""
    name, kind = str(column.name), _kind(column)
    if kind == "other" and not is_categorical:
        raise InputError(
            f"column {name!r} of {file} has the type {column.dtype}, which is neither a number nor a category: "
            "convert it, or name it in `ignore`."
        )
    if kind == "number" and not is_categorical:
        numbers = _numbers(column, file)
        _refuse_infinite(numbers, name, file)
        if _IDENTIFIER.fullmatch(name) and len(np.unique(numbers)) == len(numbers) > _FEW_VALUES:
            rank_zero_info(
                f"The column {name!r} of {file} has a different number in every row and looks like an identifier, but "
                "is used as an input: name it in `ignore`, or as `id_column` to have it in the predictions."
            )
        return NumberColumn(name, float(np.nanmedian(numbers)) if not np.isnan(numbers).all() else 0.0)
    text = _texts(column)
    categories: list[str] = sorted(text.dropna().unique().tolist())
    if not is_categorical:
        _refuse_numbers_with_mistakes(text, categories, name, file)
        _refuse_names(len(categories), int(text.notna().sum()), name, file)
    if len(categories) > _MOST_CATEGORIES:
        raise InputError(
            f"column {name!r} of {file} has {len(categories)} categories, more than {_MOST_CATEGORIES}: merge some, or "
            "name the column in `ignore`."
        )
    return CategoryColumn(name, tuple(categories), is_text=_is_written_as_text(column))


def _refuse_numbers_with_mistakes(text: Series[Any], categories: list[str], name: str, file: str) -> None:
    import pandas

    is_number = pandas.to_numeric(pandas.Series(categories, dtype="string"), errors="coerce").notna().tolist()
    others = [category for category, yes in zip(categories, is_number, strict=True) if not yes]
    if not others or len(others) == len(categories):
        return
    n_others = int(text.isin(others).sum())
    n = int(text.notna().sum())
    share, n_distinct = 1 - n_others / n, len(categories) - len(others)
    if share >= _NEARLY_ALL or (share >= _MOST and n_distinct > _FEW_VALUES):
        raise InputError(
            f"column {name!r} of {file} has numbers in {n - n_others} rows and {few([repr(v) for v in others])} in "
            f"{n_others}: give these in `missing_values` if they stand for a missing number, or correct them, or name "
            "the column in `categorical` or `ignore`."
        )


def _refuse_names(n_distinct: int, n: int, name: str, file: str) -> None:
    if n_distinct > max(_FEW_VALUES, n / _ROWS_PER_VALUE):
        raise InputError(
            f"column {name!r} of {file} has {n_distinct} different texts in {n} rows, like a name or free text, and "
            "each would become an input: name it in `ignore`, as `id_column` to have it in the predictions, or in "
            "`categorical` if these are categories."
        )


def _numbers(column: Series[Any], file: str) -> NDArray[np.float64]:
    """The column as numbers, NaN where they are missing; text is accepted if all of it can be read as numbers."""
    import pandas

    kind = _kind(column)
    if kind == "number":
        numbers: NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers
    text = column.astype("string").replace({"True": "1", "False": "0"})
    # An object column may mix numbers and text; other kinds, such as periods, only look like numbers as text.
    is_readable = kind == "text" or column.dtype == object
    read = pandas.to_numeric(text.where(pandas.Series(is_readable, text.index)), errors="coerce")
    wrong = text[read.isna() & text.notna()]
    if len(wrong):
        values = few([repr(value) for value in wrong.unique().tolist()])
        raise InputError(
            f"column {column.name!r} of {file} has {values} in {len(wrong)} of {len(column)} rows, where the model was "
            "trained on numbers: correct these values."
        )
    numbers = read.to_numpy(dtype=np.float64, na_value=np.nan)
    return numbers


def _refuse_infinite(numbers: NDArray[np.float64], name: str, file: str) -> None:
    """Refuse numbers that are infinite or would be in float32."""
    n = int((np.abs(numbers) > LARGEST).sum())
    if n:
        raise InputError(
            f"column {name!r} of {file} has values in {n} rows that are infinite or beyond {LARGEST:.0e}: replace or "
            "rescale them, or train with the column in `ignore`."
        )


def _is_written_as_text(column: Series[Any]) -> bool:
    from pandas import CategoricalDtype
    from pandas.api import types

    values = column.cat.categories if isinstance(column.dtype, CategoricalDtype) else column
    return str(types.infer_dtype(values, skipna=True)) == "string"


def _texts(column: Series[Any]) -> Series[Any]:
    """The column as text; whole numbers of any type are written without a decimal point."""
    from pandas.api import types

    text = column.astype("string")
    if types.is_float_dtype(column):
        return text.str.replace(r"\.0$", "", regex=True)
    return text


def _codes(
    column: Series[Any], known: CategoryColumn, file: str
) -> tuple[NDArray[np.int64], NDArray[np.bool_], _NewCategories | None]:
    """The category of every row (-1: none of the known ones), where it is missing, and the unknown ones."""
    from pandas import Index

    text = _texts(column)
    codes = Index(known.categories, dtype="string").get_indexer(text).astype(np.int64)
    is_missing: NDArray[np.bool_] = text.isna().to_numpy(dtype=bool)
    is_new = (codes < 0) & ~is_missing
    if not is_new.any():
        return codes, is_missing, None
    values = sorted(text[is_new].unique().tolist())
    return codes, is_missing, _NewCategories(known.name, int(is_new.sum()), values)


def _report_new(new: list[_NewCategories], file: str) -> None:
    if new:
        found = "; ".join(f"{name} ({n} rows: {few(values)})" for name, n, values in new)
        rank_zero_info(
            f"{file} has categories that the training file does not have, which count as none of the known ones: "
            f"{found}."
        )
