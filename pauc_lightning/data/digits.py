"""Handwritten digits that come with scikit-learn: nothing to download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor

from pauc_lightning.data.base import LongTailDataModule, Source

_MEAN, _STD = 4.9, 6.0  # of the 1797 images' pixels


class DigitsLT(LongTailDataModule):
    """The 1797 handwritten digits of scikit-learn (8x8 pixels), long-tailed and binary."""

    def __init__(
        self,
        positive_classes: Sequence[int] = (8,),
        imbalance_ratio: float | None = 0.1,
        batch_size: int = 128,
        eval_batch_size: int = 1024,
        sampler: Literal["stratified", "shuffled"] = "stratified",
        positive_fraction: float | None = None,
        seed: int = 0,
        num_workers: int = 0,
    ) -> None:
        super().__init__(
            positive_classes=positive_classes,
            imbalance_ratio=imbalance_ratio,
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            sampler=sampler,
            positive_fraction=positive_fraction,
            seed=seed,
            num_workers=num_workers,
        )

    def load_source(self) -> Source:
        """The images as float32 of shape ``(1797, 1, 8, 8)``, pixel values 0 to 16."""
        digits = load_digits()
        images = torch.from_numpy(digits.images).float().unsqueeze(1)
        return Source(images, digits.target.astype(np.int64))

    def eval_transform(self, input: Tensor) -> Tensor:
        """Pixels of about zero mean and unit variance."""
        return (input - _MEAN) / _STD
