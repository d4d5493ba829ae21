"""One part of a data set: training, validation or test."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.utils.data import Dataset

from pauc_lightning.data.sample import Sample
from pauc_lightning.data.source import Inputs


class InMemoryDataset(Dataset[Sample]):
    """Some samples of a whole data set; a batch is one indexing operation.

    Args:
        inputs: Inputs of the whole data set, of shape ``(n, *input_shape)``; shared, not copied. Usually a
            tensor, but files that are read when they are indexed also work.
        targets: 0/1 targets of the whole data set, int64 of shape ``(n,)``.
        members: Positions of this part's samples in the data set, int64 of shape ``(m,)``.
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
        """A batch of samples, already stacked; torch's loaders call this."""
        return self.batch(torch.tensor(indices, dtype=torch.int64))

    def batch(self, index: Tensor) -> Sample:
        """The samples at positions ``index`` of this part, int64 of shape ``(B,)``, as one batch."""
        # index_select is several times faster than indexing with brackets.
        members = self.members.index_select(0, index)
        inputs = self.inputs
        chosen = inputs.index_select(0, members) if isinstance(inputs, Tensor) else inputs[members]
        return Sample(chosen, self.targets.index_select(0, index), index)
