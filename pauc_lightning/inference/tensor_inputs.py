"""Samples as tensors, for data that are neither tables nor images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pauc_lightning.data.base import LongTailDataModule
from pauc_lightning.data.source import Inputs
from pauc_lightning.errors import InputError
from pauc_lightning.inference.inputs import ModelInputs, as_tensor, is_path, path_of


class TensorInputs(ModelInputs):
    """Tensors and arrays as the run's data module yields them, before its ``eval_transform``.

    Args:
        data: The data module; None if it is not one of this project's kind, whose batches are taken as they are.
        shape: Shape of one input after the transform; None if unknown.
        dtype: The network's precision.
    """

    def __init__(
        self, data: LongTailDataModule | None, shape: tuple[int, ...] | None, dtype: torch.dtype
    ) -> None:
        self.data = data
        self.shape = shape
        self.dtype = dtype

    def prepare(self, samples: Any) -> Inputs:
        """Return the samples in the network's precision; a path goes to the data module's ``load_new``."""
        if is_path(samples):
            return self._read(path_of(samples))
        return self.checked(as_tensor(samples, self._accepted()))

    def _read(self, path: Path) -> Inputs:
        if self.data is None:
            raise InputError(
                f"`{path}`: the run's data module reads no new files. Give a tensor or an array."
            )
        return self.data.load_new(path).inputs

    def checked(self, samples: Tensor) -> Tensor:
        """Refuse samples of another number of axes or another shape than in training."""
        shape = self.shape
        if shape is not None and (samples.ndim != len(shape) + 1 or not self._fits(tuple(samples.shape[1:]))):
            single = " (one sample is samples[None])" if tuple(samples.shape) == shape else ""
            raise InputError(f"the model takes {self._accepted()}, got shape {tuple(samples.shape)}{single}.")
        # In place changes of the transform must not reach the caller's tensor.
        return samples.to(self.dtype, copy=True) if samples.is_floating_point() else samples.clone()

    def transform(self, batch: Tensor) -> Tensor:
        """Apply the data module's ``eval_transform``."""
        changed = batch if self.data is None else self.data.eval_transform(batch)
        return changed if changed.is_floating_point() else changed.to(self.dtype)

    def _fits(self, shape: tuple[int, ...]) -> bool:
        # A transform of the user's own may change the shape; only the data module knows from which.
        is_plain = self.data is None or type(self.data).eval_transform is LongTailDataModule.eval_transform
        return shape == self.shape or not is_plain

    def _accepted(self) -> str:
        shape = "" if self.shape is None else f" of shape (n, {', '.join(map(str, self.shape))})"
        return f"a tensor or an array{shape}"
