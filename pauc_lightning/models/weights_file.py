"""Weights from a local file, and how they differ from those that a network wants."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pauc_lightning.errors import InputError

_SHOWN = 3
_WRAPPERS = ("state_dict_ema", "model_ema", "state_dict", "model")
"""Keys under which training scripts keep the weights beside other things; averaged weights come first."""
_PREFIXES = ("module.", "_orig_mod.", "backbone.network.")
"""What DDP, torch.compile and a run of TimmModel put before the names of the weights."""


def load_weights(network: nn.Module, path: str | Path, left_out: tuple[str, ...] = ()) -> None:
    """Load the weights of a file into a network; if they do not fit, nothing is changed.

    Args:
        network: The network.
        path: A .safetensors file, or one that ``torch.save`` wrote. No pickle is executed.
        left_out: Names of layers whose weights are taken only if they fit, such as a classifier of other classes.

    Raises:
        InputError: If the file cannot be read, or its weights do not fit.
    """
    wanted = network.state_dict()
    given = {
        name: value
        for name, value in read_weights(path).items()
        if not _belongs_to(name, left_out) or (name in wanted and wanted[name].shape == value.shape)
    }
    needed = {
        name: value
        for name, value in wanted.items()
        if name in given or not (_belongs_to(name, left_out) or name.endswith(".num_batches_tracked"))
    }
    found = differences(given, needed)
    if found:
        raise InputError(
            f"`weights={path}` does not fit {type(network).__name__}: {in_short(found)}. Give the file of this "
            "architecture, or the architecture that the file was made for."
        )
    network.load_state_dict(given, strict=False)


def read_weights(path: str | Path) -> dict[str, Tensor]:
    """The weights in a file by name, without the prefixes of DDP, of torch.compile and of this project's runs."""
    path = Path(path)
    if not path.is_file():
        kind = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"`weights={path}` {kind}: give a .safetensors, .pth or .ckpt file.")
    content = _read_safetensors(path) if path.suffix == ".safetensors" else _read_torch(path)
    for key in _WRAPPERS:
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
            break
    tensors = (
        {str(key): value for key, value in content.items() if isinstance(value, Tensor)}
        if isinstance(content, Mapping)
        else {}
    )
    if not tensors:
        raise InputError(
            f"`weights={path}` holds no weights: give a file with the state_dict of a network, such as timm's."
        )
    for prefix in _PREFIXES:
        if any(name.startswith(prefix) for name in tensors):
            tensors = {
                name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)
            }
    return tensors


def differences(given: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> list[str]:
    """Describe the differences that keep weights from being loaded; a lazy layer takes any shape."""
    shapes = [
        f"`{key}` has shape {tuple(given[key].shape)} there and {tuple(value.shape)} here"
        for key, value in wanted.items()
        if key in given
        and not isinstance(value, (nn.UninitializedParameter, nn.UninitializedBuffer))
        and given[key].shape != value.shape
    ]
    missing = [f"`{key}` is missing there" for key in wanted if key not in given]
    surplus = [f"`{key}` is unknown here" for key in given if key not in wanted]
    return [*shapes, *missing, *surplus]


def in_short(found: list[str]) -> str:
    """The first few differences, and how many more there are."""
    more = len(found) - _SHOWN
    return "; ".join(found[:_SHOWN]) + (f"; and {more} more differences" if more > 0 else "")


def _belongs_to(name: str, layers: tuple[str, ...]) -> bool:
    return any(name.startswith(f"{layer}.") for layer in layers)


def _read_safetensors(path: Path) -> Any:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError as error:
        raise InputError(
            f"`weights={path}` needs the safetensors library: pip install 'pauc-lightning[timm]'."
        ) from error
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise _unreadable(path, error) from error


def _read_torch(path: Path) -> Any:
    try:
        if zipfile.is_zipfile(path):  # torch.load does not verify the checksums
            with zipfile.ZipFile(path) as archive:
                bad_part = archive.testzip()
            if bad_part is not None:
                raise EOFError(f"the checksum of {bad_part} is wrong")
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise InputError(
            f"`weights={path}` is not a file of weights, or holds Python objects that would have to be executed, so it "
            "is not loaded: save the state_dict alone, best as .safetensors."
        ) from error
    except Exception as error:  # damaged files make zipfile and torch raise many things
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return InputError(f"`weights={path}` cannot be read ({reason}): copy or download the file again.")
