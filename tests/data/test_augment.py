"""The batch augmentation against PIL, one image at a time, and against pixels counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from pauc_lightning.data.augment import IMAGENET_MEAN, IMAGENET_STD, normalize, random_affine, to_unit


def bright_images(n: int, height: int = 9, width: int = 9) -> Tensor:
    """Images whose pixels all differ and are far from the black that comes in from outside."""
    return (torch.arange(height * width).float() + 1000).view(1, 1, height, width).repeat(n, 2, 1, 1)


def shifted(image: Tensor, dx: int, dy: int) -> Tensor:
    """Pixel (y, x) of the result is pixel (y + dy, x + dx) of the image, 0 outside."""
    height, width = image.shape[-2:]
    border = max(abs(dx), abs(dy))
    padded = torch.nn.functional.pad(image, (border,) * 4)
    return padded[..., border + dy : border + dy + height, border + dx : border + dx + width]


@pytest.mark.parametrize(("height", "width"), [(9, 9), (8, 8), (6, 10)])
def test_shifts_and_flips_are_exact_and_all_of_them_occur(height: int, width: int) -> None:
    image = bright_images(1, height, width)[0]
    expected = {
        (mirror, dx, dy): shifted(image.flip(-1) if mirror else image, dx, dy)
        for mirror in (False, True)
        for dx in range(-2, 3)
        for dy in range(-2, 3)
    }
    torch.manual_seed(0)
    seen = set()
    for result in random_affine(bright_images(600, height, width), True, 0.0, 2):
        matches = [key for key, picture in expected.items() if torch.equal(picture, result)]
        assert len(matches) == 1  # all candidates differ, and every result is one of them
        seen.add(matches[0])
    assert seen == set(expected)


@pytest.mark.parametrize(("height", "width"), [(33, 33), (24, 40)])
def test_rotations_agree_with_pil(height: int, width: int) -> None:
    """Each result is PIL's rotation of the image by some angle of at most 15 degrees, and both signs occur."""
    y, x = np.mgrid[:height, :width]
    picture = Image.fromarray((40 + 3 * x + 2 * y).astype(np.uint8))
    degrees = np.arange(-15, 15.25, 0.25)
    rotated = np.stack([np.asarray(picture.rotate(angle)) for angle in degrees]).astype(np.float32)
    images = torch.from_numpy(np.array(picture)).float().expand(40, 1, height, width)
    torch.manual_seed(0)
    results = random_affine(images, flip=False, max_rotation=15.0, max_shift=0)[:, 0].numpy()
    angles = []
    for result in results:
        inside = (result > 0) & (rotated > 0)
        error = np.where(inside, np.abs(rotated - result), 0).sum((1, 2)) / inside.sum((1, 2))
        angles.append(degrees[error.argmin()])
        assert error.min() < 0.6  # neighbouring pixels differ by 2 and 3; at the wrong angle it is several
        assert ((result > 0) != (rotated[error.argmin()] > 0)).mean() < 0.02  # the same corners are black
    assert min(angles) < -10
    assert max(angles) > 10
    assert len(set(angles)) > 20  # one angle per image, not per batch


def test_shift_comes_after_rotation() -> None:
    """A crop moves the rotated picture by whole pixels along the axes of the result."""
    images = bright_images(1, 31, 31)
    for seed in range(20):
        torch.manual_seed(seed)
        plain = random_affine(images, flip=True, max_rotation=15.0, max_shift=0)
        torch.manual_seed(seed)
        moved = random_affine(images, flip=True, max_rotation=15.0, max_shift=3)
        inner = slice(4, 27)  # where the shifted picture does not need what plain cut off
        candidates = [
            float((shifted(plain, dx, dy) == moved)[..., inner, inner].float().mean())
            for dx in range(-3, 4)
            for dy in range(-3, 4)
        ]
        assert max(candidates) > 0.99  # a pixel half-way between two others may fall to either


def test_to_unit_and_normalize_by_hand() -> None:
    images = torch.tensor([0, 51, 255], dtype=torch.uint8).view(1, 3, 1, 1)
    unit = to_unit(images)
    torch.testing.assert_close(unit.flatten(), torch.tensor([0.0, 0.2, 1.0]))
    result = normalize(unit, IMAGENET_MEAN, IMAGENET_STD).flatten()
    torch.testing.assert_close(
        result, torch.tensor([-0.485 / 0.229, (0.2 - 0.456) / 0.224, (1 - 0.406) / 0.225])
    )
    assert images[0, 2, 0, 0] == 255  # the stored bytes are left alone


def test_randomness_comes_from_torch_only() -> None:
    images = torch.rand(4, 3, 8, 8)
    torch.manual_seed(3)
    first = random_affine(images)
    torch.manual_seed(3)
    assert torch.equal(first, random_affine(images))
    assert not torch.equal(first, random_affine(images))
    assert math.isfinite(float(first.sum()))
