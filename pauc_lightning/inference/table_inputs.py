"""Rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from pauc_lightning.data.source import Inputs
from pauc_lightning.data.table_encoding import CategoryColumn
from pauc_lightning.data.table_reader import read_table
from pauc_lightning.data.tabular import TabularLT
from pauc_lightning.errors import InputError
from pauc_lightning.inference.inputs import ModelInputs, as_tensor, is_path, path_of

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-untyped]  # ships no types

_NAME = "the table"


class TableInputs(ModelInputs):
    """Data frames, records, files and arrays whose columns are those of the training file.

    Args:
        data: The data module, built from the run's ``preprocessing.json``.
        dtype: The network's precision.
    """

    def __init__(self, data: TabularLT, dtype: torch.dtype) -> None:
        self.data = data
        self.state = data.table_state
        self.dtype = dtype
        self.columns = [column.name for column in self.state.encoding.columns]

    def prepare(self, samples: Any) -> Inputs:
        """Encode and standardise the rows as in training."""
        return self.encode(self.table(samples))

    def table(self, samples: Any) -> DataFrame:
        """Return the rows as a data frame; a file is read as the training file was."""
        if is_path(samples):
            return read_table("input", path_of(samples), self.state.encoding.text_columns)
        return self._frame(samples)

    def encode(self, table: DataFrame) -> Tensor:
        """Return the network's inputs for a data frame that has all columns, in any order and among others."""
        table = table.rename(columns=lambda name: str(name).strip()).reset_index(drop=True)
        encoding = self.state.encoding
        encoding.check_has(table.columns, _NAME)
        return self.state.standardise_(torch.from_numpy(encoding.encode(table, _NAME)))

    def transform(self, batch: Tensor) -> Tensor:
        """Convert to the network's precision."""
        return batch.to(self.dtype)

    def _frame(self, samples: Any) -> DataFrame:
        try:
            import pandas
        except ImportError as error:
            raise InputError("tables need pandas: pip install 'pauc-lightning[tabular]'.") from error
        if isinstance(samples, pandas.DataFrame):
            return samples
        if isinstance(samples, Mapping):  # one row, or columns
            is_row = not any(
                isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str)
                for value in samples.values()
            )
            return pandas.DataFrame([samples] if is_row else samples)
        if isinstance(samples, Sequence) and samples and all(isinstance(one, Mapping) for one in samples):
            return pandas.DataFrame(list(samples))
        if isinstance(samples, np.ndarray) and samples.dtype.kind in "OUS":
            array = samples
        else:
            array = as_tensor(samples, self._accepted()).cpu().numpy()
            texts = [
                column.name
                for column in self.state.encoding.columns
                if isinstance(column, CategoryColumn) and column.is_text
            ]
            if texts:
                raise InputError(
                    f"the columns {', '.join(texts[:5])} hold text, which an array of numbers cannot: give a data "
                    "frame."
                )
        if array.ndim != 2 or array.shape[1] != len(self.columns):
            raise InputError(f"the model takes {self._accepted()}, got an array of shape {array.shape}.")
        return pandas.DataFrame(array, columns=self.columns)

    def _accepted(self) -> str:
        names = ", ".join(self.columns[:10]) + (", ..." if len(self.columns) > 10 else "")
        return f"a data frame, or an array with the {len(self.columns)} columns {names} in this order"
