"""Arrays of bytes in the idx format of the MNIST files: 0, 0, 8, number of dimensions, the dimensions, the data."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.errors import InputError

_START = b"\0\0\x08"


def read_shape(path: Path) -> tuple[int, ...]:
    """The shape of the array in a file, compressed or not, from its header."""
    start = _read(path, 4)
    n_dims = start[3] if start[:3] == _START and len(start) == 4 else 0
    header = _read(path, 4 + 4 * n_dims)
    if n_dims == 0 or len(header) != 4 + 4 * n_dims:
        raise InputError(f"{path} is not a file of bytes in idx format. Delete it or get it again.")
    return tuple(int.from_bytes(header[i : i + 4], "big") for i in range(4, len(header), 4))


def read_array(path: Path) -> NDArray[np.uint8]:
    """The array in a file, compressed or not."""
    shape = read_shape(path)
    content = _read(path, -1)
    start = 4 + 4 * len(shape)
    if len(content) != start + math.prod(shape):
        raise InputError(
            f"{path} is not complete: its header promises an array of shape {shape}. Delete it or get it again."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def _read(path: Path, n_bytes: int) -> bytes:
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            return file.read(n_bytes)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}. Delete the file or get it again.") from error
