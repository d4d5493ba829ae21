"""Handwritten digits that come with scikit-learn: nothing to download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor

from pauc_lightning.data.base import LongTailDataModule, Source

_MEAN, _STD = 4.9, 6.0  # of all pixels


class DigitsLT(LongTailDataModule):
    """The 1797 handwritten digits of scikit-learn (8x8 pixels), long-tailed and binary.

    By default 3 and 8, which look alike and like others, are to be told from the other digits: 104 positives
    and 536 negatives to train on, 24 and 123 to test on. That is enough for a TPAUC to mean something, and not
    so easy that every method is perfect.

    Args:
        positive_classes: Digits that are positive; all others are negative.
        imbalance_ratio: Number of nines over number of zeros, in (0, 1]; the digits between shrink
            exponentially. null keeps every image.
        kwargs: What every long-tailed data module takes.
    """

    def __init__(
        self, positive_classes: Sequence[int] = (3, 8), imbalance_ratio: float | None = 0.2, **kwargs: Any
    ) -> None:
        super().__init__(positive_classes, imbalance_ratio, **kwargs)

    def load_source(self) -> Source:
        """The images as float32 of shape ``(1797, 1, 8, 8)``, with pixels from 0 to 16."""
        digits = load_digits()
        images = torch.from_numpy(digits.images).float().unsqueeze(1)
        return Source(images, digits.target.astype(np.int64))

    def eval_transform(self, input: Tensor) -> Tensor:
        """Pixels of about zero mean and unit variance."""
        return (input - _MEAN) / _STD
