"""What a trained model scores: from what a caller gives to the network's inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pauc_lightning.data.source import Inputs
from pauc_lightning.errors import InputError


class ModelInputs(ABC):
    """Turns samples into inputs, as the run's data module did in training."""

    @abstractmethod
    def prepare(self, samples: Any) -> Inputs:
        """Return the samples as an indexable set of inputs, not transformed yet; nothing given is changed."""

    def transform(self, batch: Tensor) -> Tensor:
        """Return what the network gets for a batch of prepared inputs, on the batch's device."""
        return batch


def is_path(samples: Any) -> bool:
    """Whether this names a file or a folder."""
    return isinstance(samples, (str, PathLike)) and not isinstance(samples, bytes)


def path_of(samples: Any) -> Path:
    """Return the path, or raise :class:`InputError` if there is nothing."""
    path = Path(samples)
    if not path.exists():
        raise InputError(f"`{path}`: no such file or folder. Check the path.")
    return path


def as_tensor(samples: Any, what: str) -> Tensor:
    """Return a tensor, an array or a nested list of numbers as a tensor on the CPU, with a copy if it is no tensor.

    Args:
        samples: What the caller gave.
        what: What is accepted, for the message.
    """
    if isinstance(samples, Tensor):
        return samples.detach()
    try:
        if isinstance(samples, Sequence) and samples and all(isinstance(one, Tensor) for one in samples):
            return torch.stack([one.detach() for one in samples])
        array = np.asarray(samples)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"it holds {array.dtype}")
        return torch.from_numpy(np.array(array, dtype=array.dtype.newbyteorder("="), order="C"))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"the model takes {what}, got {type(samples).__name__} ({error}): convert it."
        ) from error
