"""The state of a trained table: columns, categories, scaling and label, and its form in a run's JSON file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pauc_lightning.data.table_encoding import CategoryColumn, Column, NumberColumn, TableEncoding
from pauc_lightning.errors import InputError

_CHUNK = 1 << 20  # numbers that are float64 at the same time
_CONSTANT = 1e-12  # standard deviation up to which an input is taken to be constant


@dataclass(frozen=True)
class TableState:
    """Everything needed to turn another table into inputs of the same model.

    Attributes:
        encoding: How columns become inputs.
        subtract: Number to subtract from each input, float32.
        multiply: Factor of the difference, float32.
        label: Name of the label column.
        label_values: The label's values as text.
        positive_values: The positive ones among them.
        id_column: The column that is copied to the predictions, if there is one.
    """

    encoding: TableEncoding
    subtract: Tensor
    multiply: Tensor
    label: str
    label_values: tuple[str, ...]
    positive_values: tuple[str, ...]
    id_column: str | None

    def standardise_(self, inputs: Tensor) -> Tensor:
        """Standardise encoded inputs in place; a missing number becomes 0, the training mean."""
        return inputs.sub_(self.subtract).mul_(self.multiply).nan_to_num_()

    def to_json(self) -> dict[str, Any]:
        """The state as plain lists and exact numbers, to be read by people and by :meth:`from_json`."""
        columns, start = [], 0
        for column in self.encoding.columns:
            end = start + len(column.input_names)
            columns.append(
                _column_to_json(column, self.subtract[start:end].tolist(), self.multiply[start:end].tolist())
            )
            start = end
        return {
            "label": self.label,
            "label_values": list(self.label_values),
            "positive_values": list(self.positive_values),
            "id_column": self.id_column,
            "missing": self.encoding.missing,
            "missing_values": list(self.encoding.missing_values),
            "columns": columns,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any], file: str) -> TableState:
        """The state that :meth:`to_json` returned.

        Args:
            content: The contents of a run's file.
            file: Its path, for messages.
        """
        try:
            columns = [_column_from_json(column) for column in content["columns"]]
            encoding = TableEncoding(
                tuple(column for column, _, _ in columns),
                content["missing"],
                tuple(content["missing_values"]),
            )
            return cls(
                encoding,
                torch.tensor(
                    [value for _, subtract, _ in columns for value in subtract], dtype=torch.float32
                ),
                torch.tensor(
                    [value for _, _, multiply in columns for value in multiply], dtype=torch.float32
                ),
                content["label"],
                tuple(content["label_values"]),
                tuple(content["positive_values"]),
                content["id_column"],
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"`preprocessing={file}` does not belong to a run on a table, or is damaged ({error!r}): give the file "
                "that the run wrote."
            ) from error


def _column_to_json(column: Column, subtract: list[float], multiply: list[float]) -> dict[str, Any]:
    if isinstance(column, NumberColumn):
        return {
            "name": column.name,
            "kind": "number",
            "middle": column.middle,
            "subtract": subtract[0],
            "multiply": multiply[0],
        }
    unused = [category for category, used in zip(column.categories, multiply, strict=True) if not used]
    return {
        "name": column.name,
        "kind": "categories",
        "is_text": column.is_text,
        "categories": list(column.categories),
        "the_same_in_all_training_rows": unused,
    }


def _column_from_json(content: Mapping[str, Any]) -> tuple[Column, list[float], list[float]]:
    """The column, and the shifts and factors of its inputs."""
    if content["kind"] == "number":
        number = NumberColumn(content["name"], content["middle"])
        return number, [content["subtract"]], [content["multiply"]]
    categories = CategoryColumn(content["name"], tuple(content["categories"]), content["is_text"])
    unused = set(content["the_same_in_all_training_rows"])
    return (
        categories,
        [0.0] * len(categories.categories),
        [float(c not in unused) for c in categories.categories],
    )


def standardisation(inputs: Tensor, train: Tensor, is_category: NDArray[np.bool_]) -> tuple[Tensor, Tensor]:
    """The number to subtract from each input and the factor of the difference, both float32 of shape ``(inputs,)``.

    Numbers get zero mean and unit variance in the training part. Categories stay 0 and 1. An input that is constant
    in the training part says nothing about other rows and becomes 0.

    Args:
        inputs: Inputs of all rows, float32 of shape ``(rows, inputs)``; NaN where a number is missing.
        train: Rows of the training part.
        is_category: Which inputs stand for a category.
    """
    n_inputs = inputs.shape[1]
    count = torch.zeros(n_inputs, dtype=torch.int64)
    total, squares = torch.zeros(2, n_inputs, dtype=torch.float64)
    for rows in _chunks(inputs, train):
        count += (~rows.isnan()).sum(0)
        total += rows.nansum(0)
    count.clamp_(min=1)
    mean = total / count
    for rows in _chunks(inputs, train):
        squares += (rows - mean).square_().nansum(0)
    std = (squares / count).sqrt()
    category = torch.from_numpy(is_category)
    subtract = mean.where(~category, 0.0)
    multiply = torch.where(category, 1.0, 1 / std).where(std > _CONSTANT, 0.0)
    return subtract.float(), multiply.float()


def _chunks(inputs: Tensor, rows: Tensor) -> Iterator[Tensor]:
    """The chosen rows in float64, a few at a time: a copy of all of them would be twice as large as the inputs."""
    for chunk in rows.split(max(_CHUNK // inputs.shape[1], 1)):
        yield inputs.index_select(0, chunk).double()
