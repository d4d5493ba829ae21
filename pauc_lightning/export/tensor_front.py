"""The first step for images and tensors: the data module's own transform of evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pauc_lightning.export.front import Front, FrontInput


class TensorFront(Front):
    """One tensor, which the data module transforms as in evaluation.

    Args:
        name: The input's name.
        dtype: The type of its numbers.
        shape: The shape of one sample.
        transform: What is applied to a batch.
        meaning: What the numbers are, in words.
    """

    def __init__(
        self,
        name: str,
        dtype: torch.dtype,
        shape: tuple[int, ...],
        transform: Callable[[Tensor], Tensor],
        meaning: str,
    ) -> None:
        super().__init__()
        self.inputs = (FrontInput(name, dtype, shape),)
        self.transform = transform
        self.meaning = meaning

    def forward(self, first: Tensor, second: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the transformed batch; every row can be scored."""
        return self.transform(first.clone()), None  # the transform may change its input in place

    def describe(self) -> dict[str, Any]:
        """Return the shape and meaning of the input."""
        (only,) = self.inputs
        return {only.name: {"shape": ["n", *only.shape], "meaning": self.meaning}}
