"""The first step for tables: missing values, scaling and categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pauc_lightning.data.table_encoding import (
    LARGEST,
    CategoryColumn,
    NumberColumn,
    column_numbers,
    column_texts,
)
from pauc_lightning.data.table_state import TableState
from pauc_lightning.export.front import Arrays, Front, FrontInput

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]  # ships no types

UNKNOWN, MISSING = -1, -2
"""Codes of a category that the training file does not have, and of a missing one."""


class TableFront(Front):
    """Numbers as one float64 input, categories as one input of codes; then as ``pauc predict`` does.

    The shift by the median is in float64, where large numbers keep their digits. Rows that ``pauc predict`` would
    refuse (an infinite number; a missing value if the run was trained with ``missing: error``) are marked.

    Args:
        state: The columns, categories and scaling of the run.
        dtype: The network's precision.
    """

    absent: Tensor
    middle: Tensor
    subtract: Tensor
    multiply: Tensor
    order: Tensor

    def __init__(self, state: TableState, dtype: torch.dtype) -> None:
        super().__init__()
        columns = state.encoding.columns
        self.numbers = [column for column in columns if isinstance(column, NumberColumn)]
        self.categories = [column for column in columns if isinstance(column, CategoryColumn)]
        self.encoding = state.encoding
        self.dtype = dtype
        starts = np.cumsum([0, *(len(column.input_names) for column in columns)])
        places = {
            column.name: np.arange(start, start + len(column.input_names))
            for column, start in zip(columns, starts[:-1], strict=True)
        }
        # The chain computes all numbers first, then all categories; `order` puts them where the network wants them.
        names = [column.name for column in self.numbers] + [column.name for column in self.categories]
        parts = [places[name] for name in names]
        computed = torch.from_numpy(np.concatenate(parts))
        self.register_buffer("order", computed.argsort())
        self.register_buffer("subtract", state.subtract[computed])
        self.register_buffer("multiply", state.multiply[computed])
        middle = [column.middle for column in self.numbers]
        self.register_buffer("middle", torch.tensor(middle, dtype=torch.float64))
        # Buffers, as the ONNX exporter rounds Python's floats to float32.
        self.register_buffer("absent", torch.tensor(list(state.encoding.absent_numbers), dtype=torch.float64))
        self.inputs = tuple(
            FrontInput(name, kind, (len(members),))
            for name, kind, members in (
                ("numbers", torch.float64, self.numbers),
                ("categories", torch.int64, self.categories),
            )
            if members
        )

    def forward(self, first: Tensor, second: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the standardised inputs, and the rows that cannot be scored."""
        numbers = first if self.numbers else None
        codes = second if self.numbers else first
        parts, bad = [], []
        if numbers is not None:
            # Not `unbind`: of no values it is a list without outputs, which torch.export.load cannot read.
            for value in (self.absent[i] for i in range(len(self.absent))):
                numbers = torch.where(numbers == value, torch.full_like(numbers, torch.nan), numbers)
            bad.append((numbers.abs() > LARGEST).any(1))
            parts.append((numbers - self.middle).to(torch.float32))
        if codes is not None:
            for i, column in enumerate(self.categories):
                known = torch.arange(len(column.categories))
                parts.append((codes[:, i : i + 1] == known).to(torch.float32))
        encoded = (torch.cat(parts, 1) - self.subtract) * self.multiply
        is_missing = torch.isnan(encoded)
        if self.encoding.missing == "error":
            bad.append(is_missing.any(1))
            if codes is not None:
                bad.append((codes == MISSING).any(1))
        inputs = torch.where(is_missing, torch.zeros_like(encoded), encoded).index_select(1, self.order)
        return inputs.to(self.dtype), torch.stack(bad).any(0) if bad else None

    def describe(self) -> dict[str, Any]:
        """Return the columns of both inputs, and the categories in the order of their codes."""
        found: dict[str, Any] = {}
        if self.numbers:
            found["numbers"] = [column.name for column in self.numbers]
        if self.categories:
            found["categories"] = {column.name: list(column.categories) for column in self.categories}
        return {**found, "missing": self.encoding.missing}

    def arrays(self, table: DataFrame) -> Arrays:
        """Return the inputs of the ONNX file for a table: numbers, NaN where missing; categories as text, or ""."""
        found = {}
        if self.numbers:
            columns = [column_numbers(table[column.name], self.encoding) for column in self.numbers]
            found["numbers"] = np.stack(columns, axis=1)
        if self.categories:
            texts = [column_texts(table[column.name], self.encoding) for column in self.categories]
            found["categories"] = np.stack(texts, axis=1).astype(object)
        return found

    def tensors(self, arrays: Arrays) -> list[Tensor]:
        """Return the numbers, and the codes of the categories."""
        found = []
        if self.numbers:
            found.append(torch.from_numpy(np.ascontiguousarray(arrays["numbers"], dtype=np.float64)))
        if self.categories:
            texts = arrays["categories"]
            codes = [
                [lookup.get(text, UNKNOWN) for text in texts[:, i].tolist()]
                for i, lookup in enumerate(self.lookups())
            ]
            found.append(torch.tensor(codes, dtype=torch.int64).T.contiguous())
        return found

    def lookups(self) -> list[dict[str, int]]:
        """Return the code of each text, for each column of categories; other texts are :data:`UNKNOWN`."""
        absent = dict.fromkeys(["", *self.encoding.absent_texts], MISSING)
        return [
            {**{text: code for code, text in enumerate(column.categories)}, **absent}
            for column in self.categories
        ]
