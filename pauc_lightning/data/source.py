"""Data sets before they are split: inputs and classes, or new samples without classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


class Inputs(Protocol):
    """The inputs of a data set: a tensor of shape ``(n, *input_shape)``, or an object that is indexed like one."""

    def __len__(self) -> int:
        """Number of samples."""
        ...

    def __getitem__(self, index: Any, /) -> Tensor:
        """The inputs at a slice or at an int64 tensor of positions."""
        ...


class Source(NamedTuple):
    """A data set as it was read, before the long tail and the split.

    Attributes:
        inputs: Inputs of all samples, of shape ``(n, *shape)``. Small images stay uint8; large ones may be files
            that are read when they are indexed.
        labels: Class of every sample, int64 of shape ``(n,)``.
        class_names: Names of class 0, class 1, ..., if the classes have names.
        sample_names: Names of the samples, such as file names, if they have any.
        groups: Group of every sample, int64 of shape ``(n,)``, if the samples of a group, such as those of one patient,
            must be in the same part.
    """

    inputs: Inputs
    labels: NDArray[np.int64]
    class_names: Sequence[str] = ()
    sample_names: Sequence[str] = ()
    groups: NDArray[np.int64] | None = None


class NewData(NamedTuple):
    """Samples outside the training data, to be scored by a trained model.

    Attributes:
        inputs: Inputs of all samples, ready for the transform of evaluation.
        targets: 1 for a positive, 0 for a negative, -1 where the label is unknown; int64 of shape ``(n,)``.
        columns: Columns that identify the samples in the file of predictions, with one value per sample each.
    """

    inputs: Inputs
    targets: NDArray[np.int64]
    columns: Mapping[str, Sequence[Any]]
