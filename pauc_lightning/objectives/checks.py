"""Checks of a batch: shapes, finite scores in their range, labels 0 or 1, indices in range.

Reading values makes an accelerator wait (on a CPU the checks take some ten microseconds). In return, logits passed by
mistake are detected, and no NaN reaches an objective's state. The methods check each batch once for all processes, and
turn these checks off with :func:`values_are_checked`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor

from pauc_lightning.arguments import check_number
from pauc_lightning.errors import InputError

TOLERANCE = 1e-5
"""Tolerance for scores outside [0, 1]: the rounding error of a softmax or of an average of probabilities."""

_values_are_checked: ContextVar[bool] = ContextVar("values_are_checked", default=False)


@contextmanager
def values_are_checked() -> Iterator[None]:
    """Within this context objectives check shapes and types only: the caller has checked the values."""
    token = _values_are_checked.set(True)
    try:
        yield
    finally:
        _values_are_checked.reset(token)


def as_batch(scores: Tensor, target: Tensor, index: Tensor | None) -> tuple[Tensor, Tensor]:
    """Scores in float32 at least, and labels as numbers of the same type; shapes and types are checked.

    Args:
        scores: One score per sample, shape ``(B,)``.
        target: One label per sample, shape ``(B,)``.
        index: Position of each sample in the training set, shape ``(B,)``, or None.
    """
    for name, tensor in (("scores", scores), ("target", target), ("index", index)):
        if not isinstance(tensor, Tensor) and not (name == "index" and tensor is None):
            raise InputError(
                f"`{name}` must be a tensor, got {type(tensor).__name__}: wrap it in torch.as_tensor."
            )
    if scores.ndim != 1 or target.shape != scores.shape:
        raise InputError(
            f"`scores` and `target` must be one-dimensional and equally long, got shapes {tuple(scores.shape)} "
            f"and {tuple(target.shape)}: squeeze or index them to (batch,)."
        )
    if not scores.is_floating_point():
        raise InputError(
            f"`scores` must be floating-point numbers, got {scores.dtype}: pass the network's outputs, not labels."
        )
    if target.is_complex():
        raise InputError(f"`target` must hold labels 0 and 1, got {target.dtype}.")
    if index is not None and (index.shape != scores.shape or index.dtype not in (torch.int32, torch.int64)):
        raise InputError(
            f"`index` must hold one integer per score, got shape {tuple(index.shape)} of {index.dtype} for scores "
            f"of shape {tuple(scores.shape)}: pass each sample's position in the training set."
        )
    f = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
    return f, target.to(f.dtype)


def check_scores(scores: Tensor, in_unit_interval: bool) -> None:
    """Refuse scores that are not finite or, if the loss needs it, outside [0, 1].

    Args:
        scores: Scores, shape ``(B,)``; may be empty.
        in_unit_interval: Whether the loss needs scores in [0, 1], as the squared ones do.
    """
    if len(scores) == 0 or _values_are_checked.get():
        return
    low, high = (float(bound) for bound in torch.aminmax(scores.detach()))  # NaN if there is one
    if not (math.isfinite(low) and math.isfinite(high)):
        n_bad = int((~scores.isfinite()).sum())
        raise InputError(
            f"`scores` must be finite, got {n_bad} NaN or infinite values among {len(scores)}: look at this batch's "
            "inputs, and at the step sizes of the steps before."
        )
    if in_unit_interval and not (low >= -TOLERANCE and high <= 1 + TOLERANCE):
        raise InputError(
            f"`scores` must be in [0, 1], got values from {low:g} to {high:g}: pass the sigmoid of the network's "
            "outputs, scores.sigmoid(), not the logits."
        )


def check_labels(labels: Tensor) -> None:
    """Refuse labels, given as floating-point numbers, other than 0 and 1."""
    if not _values_are_checked.get() and bool(not_labels(labels).any()):
        values = sorted(set(labels.detach().tolist()), key=str)
        wrong = [value for value in values if value not in (0, 1)][:5]
        raise InputError(
            f"`target` must hold labels 0 (negative) and 1 (positive), got values such as {wrong}: for labels -1 and "
            "1 pass (target > 0).long()."
        )


def not_labels(labels: Tensor) -> Tensor:
    """Return y − y²: zero for the labels 0 and 1, not zero (or NaN) for any other value."""
    return torch.addcmul(labels, labels, labels, value=-1)


def check_index(index: Tensor, train_size: int) -> None:
    """Refuse positions outside the training set; a negative one would silently count from its end."""
    if len(index) == 0 or _values_are_checked.get():
        return
    low, high = (int(bound) for bound in torch.aminmax(index))
    if low < 0 or high >= train_size:
        raise InputError(
            f"`index` must be in [0, {train_size}), got values from {low} to {high}: `train_size` is {train_size}; is "
            "it the training set's size, and are these positions in it?"
        )


def check_normalizer(normalizer: Any) -> None:
    """Refuse a divisor that is not above zero; a tensor's value is not read."""
    if normalizer is not None and not isinstance(normalizer, Tensor):
        check_number("normalizer", normalizer, above=0, hint="leave it out to divide by the batch size")
