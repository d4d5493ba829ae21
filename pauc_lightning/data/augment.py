"""Augmentation of whole batches of images, on the device that holds them.

torchvision's v2 transforms draw *one* angle, shift and flip for a whole batch. They are therefore used only for
conversion and normalisation, which are the same for all images. The random part is one resampling with a random
affine map for each image.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


def to_unit(images: Tensor) -> Tensor:
    """Images of any integer type as float32 in [0, 1]."""
    from torchvision.transforms.v2 import functional as v2  # takes seconds to import

    unit: Tensor = v2.to_dtype(images, torch.float32, scale=True)
    return unit


def normalize(images: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Subtract each channel's mean and divide by its standard deviation, in place."""
    from torchvision.transforms.v2 import functional as v2

    normalized: Tensor = v2.normalize(images, list(mean), list(std), inplace=True)
    return normalized


def random_affine(
    images: Tensor, flip: bool = True, max_rotation: float = 15.0, max_shift: int = 4
) -> Tensor:
    """Flip, rotate and shift every image by its own random amounts; pixels from outside the image are black.

    A pixel of the result shows the source pixel nearest to ``F · R(φ) · (o + d)``, where ``o`` is its offset
    from the image's centre, ``d`` a shift by whole pixels, ``R(φ)`` a rotation and ``F`` a reflection or the
    identity. A shift by d equals a crop out of an image padded by ``max_shift``. The nearest pixel (the default of
    torchvision's ``RandomRotation``) keeps training images as sharp as evaluation images; bilinear interpolation
    would blur them.

    Args:
        images: Floating-point images of shape ``(B, C, H, W)``.
        flip: Whether half of the images are mirrored left to right.
        max_rotation: Largest rotation in degrees, to either side.
        max_shift: Largest shift in pixels, in each direction.

    Returns:
        New images of the same shape; the random numbers come from torch's generator of the images' device.

    Example:
        >>> images = torch.arange(12.0).view(1, 1, 3, 4)
        >>> torch.equal(random_affine(images, flip=False, max_rotation=0, max_shift=0), images)
        True
    """
    n, _, height, width = images.shape
    device = images.device
    degrees = (2 * torch.rand(n, device=device) - 1) * max_rotation
    mirror = torch.where(torch.rand(n, device=device) < 0.5, -1.0, 1.0) if flip else torch.ones_like(degrees)
    shift = torch.randint(-max_shift, max_shift + 1, (2, n), device=device)
    cos, sin = (degrees * (math.pi / 180)).cos(), (degrees * (math.pi / 180)).sin()
    # grid_sample measures positions from the centre, in half widths and half heights.
    to_x = torch.stack([cos, -sin, cos * shift[0] - sin * shift[1]], dim=1) * mirror[:, None] * (2 / width)
    to_y = torch.stack([sin, cos, sin * shift[0] + cos * shift[1]], dim=1) * (2 / height)
    y = torch.arange(height, device=device) - (height - 1) / 2
    x = torch.arange(width, device=device) - (width - 1) / 2
    offsets = torch.stack([x.repeat(height), y.repeat_interleave(width), torch.ones_like(y).repeat(width)])
    # One matrix product for all images, used through a permuted view: affine_grid takes longer than the resampling.
    grid = (torch.stack([to_x, to_y], dim=1).view(2 * n, 3) @ offsets).view(n, 2, height, width)
    return F.grid_sample(images, grid.permute(0, 2, 3, 1), mode="nearest", align_corners=False)
