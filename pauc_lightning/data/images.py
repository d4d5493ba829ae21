"""The base class of image data modules: augmentation and normalisation of whole batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from pauc_lightning.arguments import check_flag, check_integer, check_number
from pauc_lightning.data.augment import IMAGENET_MEAN, IMAGENET_STD, normalize, random_affine, to_unit
from pauc_lightning.data.base import LongTailDataModule
from pauc_lightning.data.new_images import new_images
from pauc_lightning.data.source import NewData
from pauc_lightning.errors import InputError

_LARGEST_IMAGE = 8192  # pixels


def check_image_size(image_size: Any) -> None:
    """Refuse anything but a plausible height and width of an image."""
    hint = "it is the height and width in pixels"
    check_integer("image_size", image_size, at_least=1, at_most=_LARGEST_IMAGE, hint=hint)


class ImageDataModule(LongTailDataModule):
    """Long-tailed binary images: stored as bytes, augmented and normalised as whole batches on the accelerator.

    The constants of the normalisation are ImageNet's by default, as in the authors' code; a subclass may define others.

    Args:
        positive_classes: Ids or names of the classes that are positive; all others are negative.
        imbalance_ratio: Ratio of the last class's size to the first's, in (0, 1]; the classes between shrink
            exponentially in the order of their ids. null keeps every image.
        flip: Whether half of the training images are mirrored left to right.
        max_rotation: Largest random rotation of training images to either side, in degrees.
        crop_padding: Training images are padded by this many pixels, and a random crop of their original size is
            taken; null means an eighth of their width.
        mean: Numbers to subtract from the colour channels, whose values are from 0 to 1, one for each; null means
            those of the data set, or ImageNet's. A pretrained network wants those that it was trained with.
        std: Divisors of the differences; null means the same.
        kwargs: Options of every long-tailed data module.
    """

    mean: Sequence[float] = IMAGENET_MEAN
    std: Sequence[float] = IMAGENET_STD

    def __init__(
        self,
        positive_classes: Sequence[int | str],
        imbalance_ratio: float | None = None,
        flip: bool = True,
        max_rotation: float = 15.0,
        crop_padding: int | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(positive_classes, imbalance_ratio, **kwargs)
        check_flag("flip", flip)
        check_number("max_rotation", max_rotation, at_least=0, at_most=180, hint="it is in degrees; 0 is off")
        if crop_padding is not None:
            check_integer("crop_padding", crop_padding, at_least=0, hint="it is in pixels; 0 is off")
        if mean is not None:
            self.mean = _channels("mean", mean, len(self.mean))
        if std is not None:
            self.std = _channels("std", std, len(self.std))
        for i, value in enumerate(self.mean):
            check_number(f"mean[{i}]", value)
        for i, value in enumerate(self.std):
            check_number(f"std[{i}]", value, above=0)
        self.flip = flip
        self.max_rotation = max_rotation
        self.crop_padding = crop_padding

    def check_padding(self, size: int) -> None:
        """Refuse a crop that could miss images of ``size`` pixels completely."""
        if self.crop_padding is not None and self.crop_padding >= size:
            raise InputError(
                f"`crop_padding={self.crop_padding}` must be less than the size of the images, {size} pixels, or some "
                "crops would contain nothing of the image; null means an eighth of their width."
            )

    def train_transform(self, input: Tensor) -> Tensor:
        """Flip, rotate and crop every image by its own random amounts, then normalise."""
        shift = input.shape[-1] // 8 if self.crop_padding is None else self.crop_padding
        self.check_padding(min(input.shape[-2:]))
        images = to_unit(input)
        if self.flip or self.max_rotation > 0 or shift > 0:
            images = random_affine(images, self.flip, self.max_rotation, shift)
        return normalize(images, self.mean, self.std)

    def load_new(self, path: Path) -> NewData:
        """All images in a folder and its subfolders."""
        return new_images(path, self.input_shape)

    def eval_transform(self, input: Tensor) -> Tensor:
        """Normalise the images."""
        return normalize(to_unit(input), self.mean, self.std)


def _channels(name: str, values: Sequence[float], n_channels: int) -> tuple[float, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != n_channels:
        raise InputError(f"`{name}` must be a list of {n_channels} numbers, one per channel, got {values!r}.")
    return tuple(values)
