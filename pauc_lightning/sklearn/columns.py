"""The inputs as the network sees them: standardised columns, from dense arrays and from sparse matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from pauc_lightning.errors import InputError

BLOCK = 8192
"""Rows that are converted at a time: whole tables need not exist in float64 or dense a second time."""


class Columns:
    """Mean and scale of each column, learned from training rows; constant columns keep their scale.

    Rows of a sparse matrix are made dense a batch at a time, so they are centred like any other and train the same
    model.

    Args:
        X: Training rows, a dense array or a CSR matrix, shape ``(n, columns)``.
        standardize: Whether to subtract the means and divide by the scales; otherwise the values stay as they are.

    Raises:
        InputError: If values are too large to be standardised.

    Example:
        >>> columns = Columns(np.array([[1.0, 5.0], [3.0, 5.0]]), standardize=True)
        >>> columns.dense(np.array([[2.0, 6.0]]), torch.float64)
        tensor([[0., 1.]], dtype=torch.float64)
    """

    def __init__(self, X: Any, standardize: bool) -> None:
        self.mean: NDArray[np.float64] = np.zeros(X.shape[1])
        self.scale: NDArray[np.float64] = np.ones(X.shape[1])
        if standardize:
            with np.errstate(over="ignore", invalid="ignore"):
                scaler = StandardScaler(with_mean=not issparse(X)).fit(X)
            self.mean = np.asarray(scaler.mean_, dtype=np.float64)
            self.scale = np.asarray(scaler.scale_, dtype=np.float64)
            _check_finite(X, np.isfinite(self.mean) & np.isfinite(self.scale))

    def dense(self, X: Any, dtype: torch.dtype) -> Tensor:
        """The standardised rows as a tensor; computed in float64, so that a large mean costs no digits.

        Raises:
            InputError: If a value is too large for the dtype.
        """
        values = X.toarray() if issparse(X) else np.asarray(X)
        with np.errstate(over="ignore", invalid="ignore"):
            standardised = torch.from_numpy((values - self.mean) / self.scale).to(dtype)
        _check_finite(values, standardised.isfinite().all(0).numpy())
        return standardised

    def blocks(self, X: Any, dtype: torch.dtype) -> Iterator[Tensor]:
        """The standardised rows, some thousand at a time."""
        for first in range(0, X.shape[0], BLOCK):
            yield self.dense(X[first : first + BLOCK], dtype)

    def training_rows(self, X: Any) -> Rows:
        """The rows to train on: a dense table is converted once, a sparse one batch by batch."""
        if issparse(X):
            return SparseRows(X, self)
        table = torch.empty(X.shape, dtype=torch.float32)
        for part, block in zip(table.split(BLOCK), self.blocks(X, torch.float32), strict=True):
            part.copy_(block)
        return DenseRows(table)


def _check_finite(X: Any, is_finite: NDArray[np.bool_]) -> None:
    """Refuse the first column whose values, which are finite, became infinite in a computation."""
    if is_finite.all():
        return
    column = int(is_finite.argmin())
    largest = float(abs(X[:, [column]]).max())
    raise InputError(
        f"`X` holds values up to {largest:g} in column {column} (counted from 0), too large for float32, in which the "
        "network is trained: correct them, or give their logarithms or ranks."
    )


class Rows(Protocol):
    """Training rows from which batches are taken."""

    def batch(self, index: Tensor) -> Tensor:
        """The rows of the given positions, float32, shape ``(B, columns)``."""

    def scaled(self) -> tuple[Any, NDArray[np.float64]]:
        """All rows for scikit-learn, and what is to be subtracted from each to make it standardised."""


class DenseRows:
    """Rows of a table in memory.

    Args:
        table: The standardised rows, float32.
    """

    def __init__(self, table: Tensor) -> None:
        self.table = table

    def batch(self, index: Tensor) -> Tensor:
        """The rows of the given positions."""
        return self.table.index_select(0, index)

    def scaled(self) -> tuple[Any, NDArray[np.float64]]:
        """All rows; nothing is left to subtract."""
        return self.table.numpy(), np.zeros(self.table.shape[1])


class SparseRows:
    """Rows of a sparse matrix, made dense when they are needed.

    Args:
        X: The rows as they were given, a CSR matrix.
        columns: Means and scales.
    """

    def __init__(self, X: Any, columns: Columns) -> None:
        self._X = X
        self._columns = columns

    def batch(self, index: Tensor) -> Tensor:
        """The rows of the given positions."""
        return self._columns.dense(self._X[index.numpy()], torch.float32)

    def scaled(self) -> tuple[Any, NDArray[np.float64]]:
        """All rows, divided by the scales and still sparse; the means are left to subtract."""
        with np.errstate(over="ignore"):
            scaled = self._X.multiply(1 / self._columns.scale).tocsr().astype(np.float32)
        is_finite = np.ones(scaled.shape[1], bool)
        is_finite[scaled.indices[~np.isfinite(scaled.data)]] = False
        _check_finite(self._X, is_finite)
        return scaled, self._columns.mean / self._columns.scale
