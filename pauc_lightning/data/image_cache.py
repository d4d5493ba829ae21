"""Images decoded once, in memory or in a file that is mapped into memory."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from pauc_lightning.data.image_files import ImageFiles, unreadable_image
from pauc_lightning.data.storage import prepare
from pauc_lightning.errors import InputError

_BLOCK = 256  # images per task of a thread


class DecodedImages:
    """Some images of a data set in memory, indexed by their positions in the whole data set.

    Args:
        files: All images of the data set.
        used: Positions of the images to decode, in ascending order; indexing any other is an error.
        cache_dir: Folder that keeps the decoded images for the next time; None decodes them each time.
    """

    def __init__(self, files: ImageFiles, used: NDArray[np.int64], cache_dir: str | None) -> None:
        self.images = decode_all(files.select(used), cache_dir)
        self._rows = torch.full((len(files),), -1)
        self._rows[torch.from_numpy(used)] = torch.arange(len(used))

    def __len__(self) -> int:
        """Number of images in the whole data set."""
        return len(self._rows)

    def __getitem__(self, index: Tensor) -> Tensor:
        """The chosen images, uint8 of shape ``(B, channels, size, size)``, or one without the first axis."""
        rows = self._rows[index]
        chosen = self.images.index_select(0, rows.flatten())  # refuses -1, unlike brackets
        return chosen.view(*rows.shape, *self.images.shape[1:])


def decode_all(files: ImageFiles, cache_dir: str | None) -> Tensor:
    """All images of ``files`` as one tensor, uint8 of shape ``(n, channels, size, size)``.

    Args:
        files: The images to decode.
        cache_dir: Folder that keeps the decoded images; None keeps nothing. The file there is mapped into memory, so
            that several processes share it. It belongs to the present state of the files: if one of them is added,
            removed or changed, another file is made.
    """
    if cache_dir is None:
        images = _allocate(files)
        _decode_into(images, files)
        return torch.from_numpy(images)
    path = Path(cache_dir) / f"images-{state_of(files)}.npy"
    prepare(path, lambda place: _write(place, files))
    try:
        kept = np.load(path, mmap_mode="c")
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"the decoded images in {path} cannot be read: {error}. Delete the file; the next run makes it again."
        ) from error
    return torch.from_numpy(kept)


def _allocate(files: ImageFiles) -> NDArray[np.uint8]:
    try:
        return np.empty(files.shape, dtype=np.uint8)
    except (MemoryError, ValueError) as error:
        raise InputError(
            f"{len(files):,} images of {files.size} x {files.size} pixels do not fit into memory: choose a smaller "
            "`image_size`, or set `in_memory` to false and give `num_workers`."
        ) from error


def _write(path: Path, files: ImageFiles) -> None:
    n_bytes, free = int(np.prod(files.shape, dtype=np.float64)), shutil.disk_usage(path.parent).free
    if n_bytes > free:  # writing to a mapped file kills the process when the disk is full
        raise InputError(
            f"the decoded images need {n_bytes / 1e9:.1f} GB in `cache_dir={path.parent}`, which has "
            f"{free / 1e9:.1f} GB left: make room, give another `cache_dir`, or set it to null to keep nothing."
        )
    try:
        images = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=files.shape)
    except OSError as error:
        raise InputError(
            f"cannot write the decoded images to `cache_dir={path.parent}`: {error.strerror or error}. Give "
            "another `cache_dir`, or set it to null to keep nothing."
        ) from error
    _decode_into(images, files)
    images.flush()


def _decode_into(images: NDArray[np.uint8], files: ImageFiles) -> None:
    def decode_block(start: int) -> int:
        block = files[start : start + _BLOCK].numpy()
        images[start : start + len(block)] = block
        return len(block)

    with (
        ThreadPoolExecutor(os.cpu_count()) as pool,
        tqdm(desc="decoding images", total=len(files), unit=" images", leave=False, file=sys.stderr) as bar,
    ):
        for n in pool.map(decode_block, range(0, len(files), _BLOCK)):
            bar.update(n)


def state_of(files: ImageFiles) -> str:
    """A short name for the present state of these files at this size."""
    kind = str(files.size) if files.channels == 3 else f"{files.size} {files.channels}"
    if files.interpolation != "bilinear":
        kind += f" {files.interpolation}"
    digest = hashlib.sha256(kind.encode())
    folder = os.fsencode(files.folder)
    for name in files.encoded_names.tolist():
        try:
            status = os.stat(folder + b"/" + name)
        except OSError as error:
            reason = error.strerror or str(error)
            raise unreadable_image(files.folder / os.fsdecode(name), reason) from error
        digest.update(b"%s\0%d\0%d\n" % (name, status.st_size, status.st_mtime_ns))
    return digest.hexdigest()[:16]
