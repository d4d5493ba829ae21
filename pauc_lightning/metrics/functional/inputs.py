"""Conversion of a caller's scores and labels to tensors, and the checks of their values."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pauc_lightning.errors import InputError

Values: TypeAlias = Tensor | ArrayLike
"""A tensor, a numpy array, a list of numbers, or anything that numpy can convert, such as a pandas Series."""

SCORE_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_SMALL_INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_LARGE_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)  # torch has hardly any operations for them
_LARGEST_EXACT = 2**53


def as_tensors(preds: Values, target: Values, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """Convert scores and labels to tensors, without a copy where that is possible.

    Args:
        preds: The scores. A list of numbers, also of integers, becomes float64.
        target: The labels.
        device: The device for values that are not tensors yet; None means the device of the one that is.

    Returns:
        The scores and the labels.

    Raises:
        InputError: If they cannot be converted.
    """
    if device is None:
        device = next((given.device for given in (preds, target) if isinstance(given, Tensor)), None)
    scores = preds if isinstance(preds, Tensor) else _from_numpy(_score_array(preds), device)
    labels = target if isinstance(target, Tensor) else _from_numpy(_array(target, "target"), device)
    return scores, labels.long() if labels.dtype in _LARGE_UNSIGNED else labels


def check_tensors(preds: Tensor, target: Tensor, values: bool = True) -> None:
    """Reject scores and labels that do not fit together.

    Args:
        preds: The scores.
        target: The labels.
        values: Whether to look at the values, too: scores must be finite, labels 0 or 1.

    Raises:
        InputError: If shapes, dtypes, devices or values are wrong.
    """
    if preds.shape != target.shape:
        raise InputError(
            f"`preds` and `target` must have the same shape, got {tuple(preds.shape)} and "
            f"{tuple(target.shape)}: one score and one label per sample (squeeze a trailing dimension of 1)."
        )
    if preds.dtype not in SCORE_DTYPES:
        raise InputError(
            f"`preds` must be scores of a dtype among {SCORE_DTYPES}, got {preds.dtype}: convert them to "
            "float64, or swap `preds` and `target` if these are the labels."
        )
    if target.dtype not in (*SCORE_DTYPES, *_SMALL_INTEGERS):
        raise InputError(
            f"`target` must be 0 or 1, got dtype {target.dtype}: convert the labels with target.long()."
        )
    if preds.device != target.device:
        raise InputError(
            f"`preds` and `target` must be on the same device, got {preds.device} and {target.device}: move "
            "one with target.to(preds.device)."
        )
    for name, tensor in (("preds", preds), ("target", target)):
        if tensor.layout != torch.strided or tensor.is_meta:
            kind = "without data (device meta)" if tensor.is_meta else f"of layout {tensor.layout}"
            raise InputError(
                f"`{name}` must be an ordinary tensor, got one {kind}: pass a dense one with data."
            )
    if values and preds.numel() > 0:
        _check_scores(preds)
        _check_labels(target)


def check_groups(groups: ArrayLike, n_samples: int) -> NDArray[Any]:
    """Return the group of each sample as an array.

    Raises:
        InputError: If there is not one for each sample, one is missing, or they cannot be sorted.
    """
    names = np.asarray(groups).ravel()
    if len(names) != n_samples:
        raise InputError(
            f"`groups` must name the group of each of the {n_samples} samples, got {len(names)} values: pass one per "
            "sample."
        )
    missing = sum(map(_is_missing, names)) if names.dtype == object else int((names != names).sum())
    if missing:
        raise InputError(
            f"`groups` must name the group of each sample, got {missing} of {n_samples} missing (None or NaN), which "
            "would count as one group: drop these samples, or give each a group of its own."
        )
    kinds = sorted({type(name).__name__ for name in names}) if names.dtype == object else []
    if len(kinds) > 1:
        raise InputError(
            f"`groups` must be values of one type, got {' and '.join(kinds)}: convert them, as in "
            "[str(group) for group in groups]."
        )
    return names


def _is_missing(name: Any) -> bool:
    try:
        return name is None or bool(name != name)  # NaN and NaT differ from themselves
    except TypeError:  # pandas.NA is neither true nor false
        return True


def as_counts(pos_counts: Values, neg_counts: Values) -> tuple[Tensor, Tensor]:
    """Convert numbers of samples per bin to int64 vectors.

    Raises:
        InputError: If they are not vectors of equal length, not integers, or negative.
    """
    given = {"pos_counts": pos_counts, "neg_counts": neg_counts}
    counts = {
        name: value if isinstance(value, Tensor) else _from_numpy(_array(value, name), None)
        for name, value in given.items()
    }
    for name, tensor in counts.items():
        if tensor.dtype not in (*_SMALL_INTEGERS, *_LARGE_UNSIGNED) or tensor.dtype == torch.bool:
            raise InputError(f"`{name}` must be integers, got {tensor.dtype}: count whole samples per bin.")
    positives, negatives = (tensor.long() for tensor in counts.values())
    if positives.shape != negatives.shape or positives.ndim != 1:
        raise InputError(
            "`pos_counts` and `neg_counts` must be vectors of the same length, got shapes "
            f"{tuple(positives.shape)} and {tuple(negatives.shape)}: count both classes in the same bins."
        )
    for name, tensor in zip(counts, (positives, negatives), strict=True):
        if bool((tensor < 0).any()):
            raise InputError(
                f"`{name}` must not be negative, got {int(tensor.min())}: count samples per bin."
            )
    return positives, negatives.to(positives.device)


def _check_scores(preds: Tensor) -> None:
    # Finding the extremes is much cheaper than testing every element, and NaN shows in both of them.
    if not torch.stack(preds.aminmax()).isfinite().all():
        bad = preds[~preds.isfinite()]
        raise InputError(
            f"`preds` must be finite, got {bad[0].item()} ({bad.numel()} of {preds.numel()} scores are NaN "
            "or infinite): look for a diverged model or a division by zero before the metric."
        )


def _check_labels(target: Tensor) -> None:
    if target.dtype == torch.bool:
        return
    if target.is_floating_point():
        binary = bool(((target == 0) | (target == 1)).all())
    else:
        low, high = target.aminmax()
        binary = bool((low >= 0) & (high <= 1))
    if not binary:
        bad = target[(target != 0) & (target != 1)]
        raise InputError(
            f"`target` must be 0 or 1, got {bad[0].item()} ({bad.numel()} of {target.numel()} labels): pass "
            "`target == positive_class`."
        )


def _score_array(preds: ArrayLike) -> NDArray[Any]:
    array = _array(preds, "preds")
    if not isinstance(preds, (list, tuple)) or array.dtype.kind == "b":
        return array
    if (
        array.dtype.kind in "iu"
        and array.size > 0
        and np.abs(array.astype(np.float64)).max() > _LARGEST_EXACT
    ):
        raise InputError(
            f"`preds` must be scores that float64 can tell apart, got integers up to {array.max()}: beyond 2**53 "
            "neighbours become equal; subtract a constant or rank them first."
        )
    return array.astype(np.float64, copy=False)


def _array(values: ArrayLike, name: str) -> NDArray[Any]:
    """Convert the values to an array of numbers; reject anything else."""
    kind = type(values).__name__
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InputError(
            f"`{name}` must have no masked values, got a MaskedArray with {int(np.sum(values.mask))} of "
            f"{values.size} masked: leave those samples out of both `preds` and `target`."
        )
    if isinstance(values, (list, tuple)):
        kind += " of " + (type(values[0]).__name__ if values else "nothing")
        if any(isinstance(value, Tensor) and value.ndim > 0 for value in values):
            raise InputError(
                f"`{name}` must be a tensor, an array or a list of numbers, got a {kind}: join the tensors with "
                f"torch.cat({name})."
            )
        values = [value.item() if isinstance(value, Tensor) else value for value in values]
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"`{name}` must be a tensor, an array or a list of numbers, got a {kind} that numpy cannot convert "
            f"({error}): give one number per sample."
        ) from error
    if array.dtype.kind not in "biuf":
        remedy = "pass `labels == positive_class`" if name == "target" else "give one number per sample"
        raise InputError(
            f"`{name}` must be a tensor, an array or a list of numbers, got a {kind} (numpy dtype {array.dtype}): "
            f"{remedy}."
        )
    return array


def _from_numpy(array: NDArray[Any], device: torch.device | None) -> Tensor:
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise InputError(
            f"`preds` and `target` must be of a dtype that torch has, got {array.dtype}: convert with "
            ".astype(numpy.float64)."
        )
    # torch needs the machine's byte order and positive strides, and warns about read-only arrays.
    native = np.require(array, array.dtype.newbyteorder("="), ["C", "W"])
    return torch.from_numpy(native).to(device)
