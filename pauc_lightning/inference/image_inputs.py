"""Images: files, folders, arrays and PIL's images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pauc_lightning.data.image_files import ImageFiles, fitted_pixels
from pauc_lightning.data.images import ImageDataModule
from pauc_lightning.data.new_images import check_square, new_images
from pauc_lightning.data.source import Inputs
from pauc_lightning.errors import InputError
from pauc_lightning.inference.inputs import ModelInputs, as_tensor, is_path, path_of


class ImageInputs(ModelInputs):
    """Images of any size as files, or as arrays of bytes; as fractions in [0, 1], in the size of the training images.

    Args:
        data: The data module, which knows the normalisation.
        shape: Channels, height and width of one input.
        dtype: The network's precision.
    """

    def __init__(self, data: ImageDataModule, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        self.data = data
        self.shape = shape
        self.dtype = dtype

    def prepare(self, samples: Any) -> Inputs:
        """Return bytes of the training images' size, or fractions; files are read when they are indexed."""
        if is_path(samples):
            path = path_of(samples)
            return new_images(path, self.shape).inputs if path.is_dir() else self._files([path])
        if isinstance(samples, Sequence) and samples:
            if all(map(is_path, samples)):
                return self._files([path_of(one) for one in samples])
            if all(_is_picture(one) for one in samples):
                return torch.from_numpy(np.stack([self._pixels(one) for one in samples]))
        if _is_picture(samples):
            raise InputError(f"the model takes {self._accepted()}, got a single image: give a list, [image].")
        return self._checked(as_tensor(samples, self._accepted()))

    def transform(self, batch: Tensor) -> Tensor:
        """Normalise as in training."""
        return self.data.eval_transform(batch).to(self.dtype)

    def _files(self, paths: Sequence[Path]) -> Inputs:
        channels, size = check_square(self.shape, paths[0])
        return ImageFiles(Path(), [str(path) for path in paths], size, channels)

    def _pixels(self, picture: Any) -> Any:
        channels, size = check_square(self.shape, "the images")
        try:
            return fitted_pixels(picture, size, channels)
        except ValueError as error:
            raise InputError(f"an image cannot be used: {error}.") from error

    def _checked(self, images: Tensor) -> Tensor:
        channels = self.shape[0]
        if images.ndim != 4 or images.shape[1] != channels:
            hint = ""
            if images.ndim == 3:
                hint = ": one image is images[None]"
            elif images.ndim == 4 and images.shape[-1] == channels:
                hint = ": the channels come first, as after images.transpose(0, 3, 1, 2)"
            raise InputError(f"the model takes {self._accepted()}, got shape {tuple(images.shape)}{hint}.")
        has_size = tuple(images.shape[1:]) == self.shape
        if images.dtype == torch.uint8:
            return images.clone() if has_size else self._resized(images)
        if not images.is_floating_point():
            raise InputError(f"the model takes {self._accepted()}, got {images.dtype}: convert to uint8.")
        if len(images) and not bool(((images >= 0) & (images <= 1)).all()):
            raise InputError(
                f"the model takes {self._accepted()}, got values from {float(images.min()):g} to "
                f"{float(images.max()):g}: convert bytes to uint8, or divide them by 255."
            )
        if not has_size:
            raise InputError(
                f"the model takes fractions in the size of the training images, (n, {', '.join(map(str, self.shape))})"
                f", got shape {tuple(images.shape)}: give bytes (uint8) or files, which are scaled."
            )
        return images.to(torch.float32, copy=True)

    def _resized(self, images: Tensor) -> Tensor:
        from PIL import Image

        planes = images.cpu().permute(0, 2, 3, 1).numpy()
        pictures = (Image.fromarray(plane.squeeze(-1) if plane.shape[-1] == 1 else plane) for plane in planes)
        return torch.from_numpy(np.stack([self._pixels(picture) for picture in pictures]))

    def _accepted(self) -> str:
        channels, height, width = self.shape
        return (
            f"image files, a folder, or an array of shape (n, {channels}, {height}, {width}) of bytes (uint8) or of "
            "fractions in [0, 1]"
        )


def _is_picture(value: Any) -> bool:
    """Whether this is one of PIL's images, without importing PIL for anything else."""
    return hasattr(value, "convert") and hasattr(value, "getbands")
