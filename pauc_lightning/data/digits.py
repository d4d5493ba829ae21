"""Handwritten digits that come with scikit-learn; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pauc_lightning.data.base import LongTailDataModule
from pauc_lightning.data.kept_sources import read_once
from pauc_lightning.data.source import Source

_MEAN, _STD = 4.9, 6.0  # of all pixels, whose values range from 0 to 16


class DigitsLT(LongTailDataModule):
    """The 1797 handwritten digits of scikit-learn (8x8 pixels), long-tailed and binary.

    By default 3 and 8, which resemble each other and other digits, are the positives: 104 positives and 536
    negatives for training, 24 and 123 for testing. That is enough for a meaningful TPAUC, and hard enough that not
    every method is perfect.

    Args:
        positive_classes: Digits that are positive; all others are negative.
        imbalance_ratio: Ratio of nines to zeros, in (0, 1]; the digits between shrink
            exponentially. null keeps every image.
        kwargs: Options of every long-tailed data module.
    """

    def __init__(
        self, positive_classes: Sequence[int] = (3, 8), imbalance_ratio: float | None = 0.2, **kwargs: Any
    ) -> None:
        super().__init__(positive_classes, imbalance_ratio, **kwargs)

    def load_source(self) -> Source:
        """The images as float32 of shape ``(1797, 1, 8, 8)``, scaled to about zero mean and unit variance."""
        source, _ = read_once("digits", self._read, lambda read: 1797 * 64 * 4)
        return source

    def _read(self) -> Source:
        from sklearn.datasets import load_digits  # takes a second to import

        digits = load_digits()
        images = torch.from_numpy(digits.images).float().unsqueeze(1)
        return Source((images - _MEAN) / _STD, digits.target.astype(np.int64))
