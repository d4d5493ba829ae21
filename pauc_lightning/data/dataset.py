"""A part of a data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.utils.data import Dataset

from pauc_lightning.data.sample import Sample


class Inputs(Protocol):
    """The inputs of a whole data set: a tensor of shape ``(n, *input_shape)``, or what can be indexed like one."""

    def __len__(self) -> int:
        """Number of samples."""
        ...

    def __getitem__(self, index: Any, /) -> Tensor:
        """The inputs that a slice or an int64 tensor of positions chooses."""
        ...


class InMemoryDataset(Dataset[Sample]):
    """Some samples of a whole data set; a batch is one indexing operation.

    Args:
        inputs: Inputs of the whole data set, of shape ``(n, *input_shape)``; shared, not copied. Usually a
            tensor; files that are read when they are indexed will do.
        targets: 0/1 targets of the whole data set, int64 of shape ``(n,)``.
        members: Which samples belong to this part, int64 of shape ``(m,)``.
    """

    def __init__(self, inputs: Inputs, targets: Tensor, members: Tensor) -> None:
        self.inputs = inputs
        self.targets = targets[members]
        self.members = members

    def __len__(self) -> int:
        """Number of samples in this part."""
        return len(self.members)

    def __getitem__(self, index: int) -> Sample:
        """One sample."""
        return Sample(self.inputs[self.members[index]], self.targets[index], torch.tensor(index))

    def __getitems__(self, indices: Sequence[int]) -> Sample:
        """A batch of samples, already stacked; the loaders call this."""
        index = torch.tensor(indices, dtype=torch.int64)
        members = self.members[index]
        inputs = self.inputs
        # On images index_select is several times faster than indexing.
        chosen = inputs.index_select(0, members) if isinstance(inputs, Tensor) else inputs[members]
        return Sample(chosen, self.targets[index], index)
