"""What a batch is: the contract between data and methods."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor
from torch.utils.data import default_collate


class Sample(NamedTuple):
    """One sample, or a batch of B of them; a plain tuple of the three is as good.

    Attributes:
        input: What the model scores, of shape ``(*input_shape)`` or ``(B, *input_shape)``.
        target: 1 for a positive, 0 for a negative; int64 of shape ``()`` or ``(B,)``.
        index: The sample's position in its part. In training it is the key of per-instance state, so it is
            the same in every epoch and on every process; int64 of shape ``()`` or ``(B,)``. Methods without
            per-instance state accept ``None``.
    """

    input: Tensor
    target: Tensor
    index: Tensor | None  # type: ignore[assignment]  # hides tuple.index, which nobody needs here


def collate(samples: Any) -> Any:
    """Stack a list of samples; a batch that was fetched as a whole passes through."""
    return samples if isinstance(samples, Sample) else default_collate(samples)
