"""Checks of a backbone: trainable parameters, known sizes, one logit per sample."""

from __future__ import annotations

import traceback
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from pauc_lightning.arguments import check_integer
from pauc_lightning.errors import InputError


def check_backbone(backbone: Any) -> None:
    """Refuse anything but a module, such as a class in place of an instance."""
    if not isinstance(backbone, nn.Module):
        kind = f"the class {backbone.__name__}" if isinstance(backbone, type) else repr(backbone)
        raise InputError(
            f"`backbone` must be a torch.nn.Module that returns one logit per sample, got {kind}: pass an instance, "
            "such as pauc_lightning.models.MLPScorer()."
        )


def check_shape(name: str, shape: Any) -> None:
    """Refuse anything but None and the shape of one input."""
    if shape is not None and not isinstance(shape, (tuple, list)):
        raise InputError(f"`{name}` must be the shape of one input such as (3, 32, 32), got {shape!r}.")
    for length in shape or ():
        check_integer(name, length, at_least=1, hint="it is the shape of one input")


def materialize(backbone: nn.Module, input_shape: tuple[int, ...] | None) -> nn.Module:
    """Return the backbone with its lazy layers initialised, so that optimizers and DDP find real parameters."""
    if has_lazy_layers(backbone) and input_shape is not None:
        was_training = backbone.training
        with torch.no_grad():
            logits_of(backbone.eval(), torch.zeros(2, *input_shape))
        backbone.train(was_training)
    return backbone


def has_lazy_layers(backbone: nn.Module) -> bool:
    """Return whether a lazy layer has not seen its first input yet."""
    return any(is_lazy(parameter) for parameter in backbone.parameters())


def check_trainable(backbone: nn.Module) -> None:
    """Refuse a backbone that cannot be trained."""
    name = type(backbone).__name__
    if has_lazy_layers(backbone):
        raise InputError(
            f"The backbone {name} has layers that take their size from the data, which is not known: pass "
            "`input_shape`, the shape of one input such as (3, 32, 32), or with the command line give your data module "
            "an attribute `input_shape`; a lazy layer that the forward pass does not use must go."
        )
    if not any(parameter.requires_grad for parameter in backbone.parameters()):
        reason = "all are frozen" if any(True for _ in backbone.parameters()) else "it has none"
        raise InputError(
            f"The backbone {name} has no parameters to train ({reason}): give it layers with weights, or set "
            "requires_grad on some."
        )


def logits_of(backbone: nn.Module, input: Tensor) -> Tensor:
    """Return one logit per sample, shape ``(B,)``; raise InputError if the backbone fails or returns anything else."""
    name, shape = type(backbone).__name__, tuple(getattr(input, "shape", ()))
    try:
        logits = backbone(input)
    except InputError:
        raise
    except torch.cuda.OutOfMemoryError as error:
        raise InputError(
            f"The device's memory is too small for the backbone {name} on an input of shape {shape}: lower "
            "`batch_size`, or use a smaller backbone."
        ) from error
    except Exception as error:
        raise InputError(
            f"The backbone {name} fails on an input of shape {shape} ({_in_short(error)}): choose a backbone that "
            "takes such inputs, or change its settings, such as `in_channels`, or the data's."
        ) from error
    expected = f"one logit per sample, shape ({len(input)},) or ({len(input)}, 1)"
    if not isinstance(logits, Tensor):
        size = f" of {len(logits)}" if isinstance(logits, (tuple, list)) else ""
        raise InputError(
            f"The backbone {name} must return {expected}; got a {type(logits).__name__}{size}. Return the tensor of "
            "logits alone."
        )
    if logits.ndim == 2 and logits.shape[1] == 1:
        logits = logits.squeeze(1)
    if logits.shape != input.shape[:1]:
        raise InputError(
            f"The backbone {name} must return {expected}; got {tuple(logits.shape)} for an input of shape {shape}. "
            "Give it a single output."
        )
    if not logits.is_floating_point():
        raise InputError(
            f"The backbone {name} must return floating-point logits, got {logits.dtype}: return the last layer's "
            "output, not classes."
        )
    return logits


def at_least_float32(values: Tensor) -> Tensor:
    """Return half-precision values in float32, all others as they are."""
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def _in_short(error: Exception) -> str:
    """Return the error's type, its first line, and the line of the backbone's own code that raised it."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)[1:]
        if "/torch/" not in frame.filename.replace("\\", "/")
    ]
    place = (
        f", {frames[-1].filename.replace(chr(92), '/').split('/')[-1]} line {frames[-1].lineno}"
        if frames
        else ""
    )
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}{f': {lines[0].rstrip(chr(46))}' if lines else ''}{place}"
