"""The first step of an exported model: from what its user gives to the network's inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Arrays = Mapping[str, NDArray[Any]]


class FrontInput(NamedTuple):
    """An input of the exported module.

    Attributes:
        name: Its name.
        dtype: The type of its numbers.
        shape: The shape of one sample.
    """

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]

    def example(self, n: int) -> Tensor:
        """A batch of zeros."""
        return torch.zeros(n, *self.shape, dtype=self.dtype)


class Front(nn.Module, ABC):
    """Turns one or two tensors into the network's inputs, by operations that can be exported."""

    inputs: tuple[FrontInput, ...]
    """What the module takes."""

    @abstractmethod
    def forward(self, first: Tensor, second: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the network's inputs, and which rows cannot be scored; None if all can."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what a user of the file has to know about its inputs, as plain values."""

    def tensors(self, arrays: Arrays) -> list[Tensor]:
        """Return the module's inputs for the arrays that a user of the ONNX file would give."""
        return [torch.from_numpy(np.ascontiguousarray(arrays[one.name])) for one in self.inputs]
