"""Image files that are decoded when they are indexed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pauc_lightning.errors import InputError

if TYPE_CHECKING:
    from PIL import Image

EXTENSIONS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp")

_MODES = {1: "L", 3: "RGB"}  # PIL's names for grey and colour


class ImageFiles:
    """A sequence of image files that is indexed like a uint8 tensor of shape ``(n, channels, size, size)``.

    Every image is scaled to cover the square, and its longer sides are cut equally. Random changes are made to whole
    batches later. Meant for loaders with workers, which decode ahead.

    Args:
        folder: The folder of the files.
        names: Their paths below ``folder``.
        size: Height and width of the result in pixels.
        channels: 3 for colour, 1 for grey.
        interpolation: How images are scaled: "bilinear" or "bicubic".
    """

    def __init__(
        self,
        folder: Path,
        names: Sequence[str],
        size: int,
        channels: int = 3,
        interpolation: str = "bilinear",
    ) -> None:
        self.folder = folder
        # One block of memory, which worker processes share; they would gradually copy a list.
        self.encoded_names = np.array([os.fsencode(name) for name in names])
        self.size = size
        self.channels = channels
        self.interpolation = interpolation

    def __len__(self) -> int:
        """Number of files."""
        return len(self.encoded_names)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of the tensor of all images."""
        return len(self), self.channels, self.size, self.size

    def __getitem__(self, index: Tensor | slice) -> Tensor:
        """The chosen images, uint8 of shape ``(B, channels, size, size)``, or one without the first axis."""
        chosen = self.encoded_names[index if isinstance(index, slice) else index.numpy()].tolist()
        if isinstance(chosen, bytes):
            return torch.from_numpy(self._decode(chosen))
        return torch.from_numpy(np.stack([self._decode(name) for name in chosen]))

    def select(self, positions: NDArray[np.int64]) -> ImageFiles:
        """The files at these positions only."""
        names = [os.fsdecode(name) for name in self.encoded_names[positions].tolist()]
        return ImageFiles(self.folder, names, self.size, self.channels, self.interpolation)

    def _decode(self, name: bytes) -> NDArray[np.uint8]:
        from PIL import Image

        path = self.folder / os.fsdecode(name)
        mode = _MODES[self.channels]
        try:
            with Image.open(path) as image:
                image.draft(
                    mode, (self.size, self.size)
                )  # lets the JPEG decoder skip detail that is not needed
                return fitted_pixels(image, self.size, self.channels, self.interpolation)
        except Exception as error:  # decoders raise all kinds of exceptions for a broken file
            reason = getattr(error, "strerror", None) or str(error).split(" '")[0] or type(error).__name__
            raise unreadable_image(path, reason) from error


def fitted_pixels(
    image: Image.Image, size: int, channels: int, interpolation: str = "bilinear"
) -> NDArray[np.uint8]:
    """The pixels of an image, scaled to cover a square and cut to it.

    Args:
        image: An image of any size and kind.
        size: Height and width of the result in pixels.
        channels: 3 for colour, 1 for grey.
        interpolation: How it is scaled: "bilinear" or "bicubic".

    Returns:
        Bytes of shape ``(channels, size, size)``.
    """
    from PIL import Image, ImageOps

    picture = _to_8_bits(image).convert(_MODES[channels])
    if picture.size != (size, size):
        picture = ImageOps.fit(picture, (size, size), Image.Resampling[interpolation.upper()])
    pixels = np.asarray(picture).reshape(size, size, channels)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def unreadable_image(path: Path, reason: str) -> InputError:
    """The error for an image file that cannot be read."""
    return InputError(f"cannot read the image {shown(path)}: {reason}. Replace or remove the file.")


def shown(name: str | Path) -> str:
    r"""A file's name for a message: on one line, and printable everywhere.

    Example:
        >>> shown("cat/1.png"), shown("cat/\n1.png")
        ('cat/1.png', "'cat/\\n1.png'")
    """
    text = str(name)
    return text if text.isprintable() else ascii(text)


def _to_8_bits(image: Image.Image) -> Image.Image:
    """The image with 8 bits per channel.

    PIL would clip values above 255, so that grey images of 16 bits, as from microscopes and X-ray machines, would
    become white. Transparency is dropped, as by torchvision's reader.
    """
    from PIL import Image

    # Some versions of PIL read the 16 bits of a PNG or PGM file into 32; the values stay below 65536.
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in ("PNG", "PPM")):
        values = np.asarray(image).astype(np.float64) * (255 / 65535)
        return Image.fromarray(values.round().clip(0, 255).astype(np.uint8))
    if image.mode in ("I", "F"):
        kind = "whole numbers of 32 bits" if image.mode == "I" else "fractional numbers"
        raise ValueError(f"its pixels are {kind} of unknown range; convert it to 8 or 16 bits")
    if "transparency" in image.info:  # PIL warns when it converts such an image directly
        return image.convert("RGBA").convert("RGB")
    return image
