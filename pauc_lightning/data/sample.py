"""The batches that data modules yield and methods train on."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor
from torch.utils.data import default_collate

from pauc_lightning.errors import InputError


class Sample(NamedTuple):
    """One sample, or a batch of B samples. Methods accept a plain tuple of the same values as well.

    Attributes:
        input: What the model scores, of shape ``(*input_shape)`` or ``(B, *input_shape)``.
        target: 1 for a positive, 0 for a negative; int64 of shape ``()`` or ``(B,)``.
        index: The sample's position in its part; int64 of shape ``()`` or ``(B,)``. In training it is the key of
            per-instance state, so it must be the same in every epoch and on every process. Methods without
            per-instance state accept ``None``.
    """

    input: Tensor
    target: Tensor
    index: Tensor | None  # type: ignore[assignment]  # hides tuple.index, which is not needed here

    @classmethod
    def from_batch(cls, batch: Any) -> Sample:
        """Return a loader's batch, (input, label, index) or (input, label), as a :class:`Sample`.

        Raises:
            InputError: If the batch is anything else, or does not have exactly one label per input.
        """
        if isinstance(batch, (tuple, list)) and len(batch) in (2, 3):
            sample = batch if isinstance(batch, cls) else cls(batch[0], batch[1], *(batch[2:] or (None,)))
        else:
            size = f" of {len(batch)}" if isinstance(batch, (tuple, list)) else ""
            raise InputError(
                f"A batch must be (input, label, index) or (input, label), got {type(batch).__name__}{size}: "
                "return such a tuple from your Dataset."
            )
        for name, value in zip(("input", "label"), sample, strict=False):
            if not isinstance(value, Tensor):
                raise InputError(
                    f"The {name} of a batch must be a tensor, got {type(value).__name__}: return (input, label, index) "
                    "from your Dataset, and give one loader, not several."
                )
        if sample.target.shape != sample.input.shape[:1]:
            raise InputError(
                f"A batch must have one label per input, got labels of shape {tuple(sample.target.shape)} for inputs "
                f"of shape {tuple(sample.input.shape)}: return a number, not a vector, as the label."
            )
        return sample


def collate(samples: Any) -> Any:
    """Stack a list of samples; a batch that was fetched as a whole passes through."""
    return samples if isinstance(samples, Sample) else default_collate(samples)
