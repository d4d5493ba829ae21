"""What training decided about a table, and how it is kept in a run: columns, categories, scaling, label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pauc_lightning.data.table_encoding import CategoryColumn, Column, NumberColumn, TableEncoding
from pauc_lightning.errors import InputError

_BLOCK = 32  # input columns that are float64 at the same time


@dataclass(frozen=True)
class TableState:
    """All that is needed to turn another table into inputs of the same model.

    Attributes:
        encoding: How columns become inputs.
        subtract: What is subtracted from each input, float32.
        multiply: What each input is multiplied with then, float32.
        label: Name of the label column.
        label_values: The label's values as text.
        positive_values: Those that are positive.
        id_column: The column that stands in the predictions, if there is one.
    """

    encoding: TableEncoding
    subtract: Tensor
    multiply: Tensor
    label: str
    label_values: tuple[str, ...]
    positive_values: tuple[str, ...]
    id_column: str | None

    def to_json(self) -> dict[str, Any]:
        """Plain lists and numbers, exact, for people and :meth:`from_json`."""
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
        """What :meth:`to_json` gave.

        Args:
            content: The content of a run's file.
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
                f"`preprocessing={file}` is not of a run on a table, or is damaged ({error!r}): give the file that the "
                "run wrote."
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
    """The column, and what is subtracted from and multiplied with its inputs."""
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
    """What to subtract from each input column, and what to multiply it with then, both float32.

    Categories stay 0 and 1. What never changes in training says nothing about other rows and becomes 0.

    Args:
        inputs: Inputs of all rows, float32 of shape ``(n, inputs)``; NaN where a number is missing.
        train: The rows of the training part.
        is_category: Which inputs stand for a category.
    """
    subtract, multiply = [], []
    for start in range(0, inputs.shape[1], _BLOCK):
        block = inputs[:, start : start + _BLOCK][train].double()
        n = (~block.isnan()).sum(0).clamp(min=1)
        mean = block.nansum(0) / n
        std = ((block - mean).square().nansum(0) / n).sqrt()
        category = torch.from_numpy(is_category[start : start + _BLOCK])
        subtract.append(mean.where(~category, 0.0).float())
        multiply.append(torch.where(category, 1.0, 1 / std).where(std > 1e-12, 0.0).float())
    return torch.cat(subtract), torch.cat(multiply)
