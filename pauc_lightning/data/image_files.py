"""Images on disk, decoded when they are asked for, or once and for all."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor
from tqdm import tqdm

from pauc_lightning.data.storage import prepare
from pauc_lightning.errors import InputError

EXTENSIONS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp")


_BLOCK = 256  # images per task of a thread


class ImageFiles:
    """A sequence of image files that can be indexed like a uint8 tensor of shape ``(n, 3, size, size)``.

    Every image is scaled so that it covers the square and cut at its longer sides, the same way each time:
    what is random happens to whole batches later. Meant for loaders with workers, which decode ahead.

    Args:
        folder: Where the files are.
        names: Their paths below ``folder``.
        size: Height and width of the result in pixels.
    """

    def __init__(self, folder: Path, names: Sequence[str], size: int) -> None:
        self.folder = folder
        # One block of memory, which worker processes share; a list they would copy little by little.
        self._encoded = np.array([os.fsencode(name) for name in names])
        self.size = size

    def __len__(self) -> int:
        """Number of files."""
        return len(self._encoded)

    def __getitem__(self, index: Tensor | slice) -> Tensor:
        """The chosen images, uint8 of shape ``(B, 3, size, size)``, or one of shape ``(3, size, size)``."""
        chosen = self._encoded[index if isinstance(index, slice) else index.numpy()].tolist()
        if isinstance(chosen, bytes):
            return torch.from_numpy(self._decode(chosen))
        return torch.from_numpy(np.stack([self._decode(name) for name in chosen]))

    def _decode(self, name: bytes) -> NDArray[np.uint8]:
        path = self.folder / os.fsdecode(name)
        try:
            with Image.open(path) as image:
                # Lets the JPEG decoder skip detail that would be thrown away.
                image.draft("RGB", (self.size, self.size))
                picture = _rgb(image)
        except Exception as error:  # decoders raise whatever a broken file leads them to
            reason = getattr(error, "strerror", None) or str(error).split(" '")[0] or type(error).__name__
            raise InputError(
                f"cannot read the image {shown(path)}: {reason}. Replace or remove the file."
            ) from error
        if picture.size != (self.size, self.size):
            picture = ImageOps.fit(picture, (self.size, self.size), Image.Resampling.BILINEAR)
        return np.ascontiguousarray(np.asarray(picture).transpose(2, 0, 1))

    def in_memory(self, cache_dir: str | None) -> Tensor:
        """All images as one tensor, uint8 of shape ``(n, 3, size, size)``.

        Args:
            cache_dir: Folder that keeps the decoded images for the next time; None decodes anew. The file there is
                mapped into memory, so that several processes share it, and belongs to the files as they are now:
                if one is added, removed or changed, another is made.
        """
        if cache_dir is None:
            images = self._allocate()
            self._decode_into(images)
            return torch.from_numpy(images)
        path = Path(cache_dir) / f"images-{self._fingerprint()}.npy"
        prepare(path, self._write)
        try:
            kept = np.load(path, mmap_mode="c")
        except (OSError, ValueError, EOFError) as error:
            raise InputError(
                f"the decoded images in {path} cannot be read: {error}. Delete the file; the next run makes it again."
            ) from error
        return torch.from_numpy(kept)

    def _allocate(self) -> NDArray[np.uint8]:
        try:
            return np.empty(self._shape, dtype=np.uint8)
        except (MemoryError, ValueError) as error:
            raise InputError(
                f"{len(self):,} images of {self.size} x {self.size} pixels do not fit into memory: choose a smaller "
                "`image_size`, or set `in_memory` to false and give `num_workers`."
            ) from error

    @property
    def _shape(self) -> tuple[int, int, int, int]:
        return len(self), 3, self.size, self.size

    def _write(self, path: Path) -> None:
        n_bytes, free = int(np.prod(self._shape, dtype=np.float64)), shutil.disk_usage(path.parent).free
        if n_bytes > free:  # a file mapped into memory ends the process when the disk is full
            raise InputError(
                f"the decoded images need {n_bytes / 1e9:.1f} GB in `cache_dir={path.parent}`, which has "
                f"{free / 1e9:.1f} GB left: make room, give another `cache_dir`, or set it to null to keep nothing."
            )
        try:
            images = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=self._shape)
        except OSError as error:
            raise InputError(
                f"cannot write the decoded images to `cache_dir={path.parent}`: {error.strerror or error}. Give "
                "another `cache_dir`, or set it to null to keep nothing."
            ) from error
        self._decode_into(images)
        images.flush()

    def _decode_into(self, images: NDArray[np.uint8]) -> None:
        def decode_block(start: int) -> int:
            block = self[start : start + _BLOCK].numpy()
            images[start : start + len(block)] = block
            return len(block)

        with (
            ThreadPoolExecutor(os.cpu_count()) as pool,
            tqdm(
                desc="decoding images", total=len(self), unit=" images", leave=False, file=sys.stderr
            ) as bar,
        ):
            for n in pool.map(decode_block, range(0, len(self), _BLOCK)):
                bar.update(n)

    def _fingerprint(self) -> str:
        """A short name for these files as they are now, at this size."""
        digest = hashlib.sha256(str(self.size).encode())
        folder = os.fsencode(self.folder)
        for name in self._encoded.tolist():
            try:
                status = os.stat(folder + b"/" + name)
            except OSError as error:
                path = shown(self.folder / os.fsdecode(name))
                raise InputError(
                    f"cannot read the image {path}: {error.strerror}. Replace or remove the file."
                ) from error
            digest.update(b"%s\0%d\0%d\n" % (name, status.st_size, status.st_mtime_ns))
        return digest.hexdigest()[:16]


def shown(name: str | Path) -> str:
    r"""A file's name in a message, in one line and printable everywhere.

    Example:
        >>> shown("cat/1.png"), shown("cat/\n1.png")
        ('cat/1.png', "'cat/\\n1.png'")
    """
    text = str(name)
    return text if text.isprintable() else ascii(text)


def _rgb(image: Image.Image) -> Image.Image:
    """The image in three channels of 8 bits.

    PIL would cut off what is above 255: grey images of 16 bits, as microscopes and X-ray machines make them, would
    become white. What is behind a transparent pixel shows, as with torchvision's reader.
    """
    # PIL reads 16 bits in a PNG or PGM file as 32 in some versions, but they stay 16.
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        values = np.asarray(image).astype(np.float64) * (255 / 65535)
        return Image.fromarray(values.round().clip(0, 255).astype(np.uint8)).convert("RGB")
    if image.mode in ("I", "F"):
        kind = "whole numbers of 32 bits" if image.mode == "I" else "fractional numbers"
        raise ValueError(
            f"its pixels are {kind}, of which nobody knows the largest; convert it to 8 or 16 bits"
        )
    if "transparency" in image.info:  # converting it directly, PIL warns
        return image.convert("RGBA").convert("RGB")
    return image.convert("RGB")
