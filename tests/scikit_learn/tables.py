"""A small table with rare positives, and networks of a user's own that can be pickled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from pauc_lightning.sklearn import PartialAUCClassifier


def table(n: int = 600, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of four columns on different scales, the first two of which tell; a fifth of them positive."""
    random = np.random.RandomState(seed)
    y = (np.arange(n) % 5 == 0).astype(np.int64)
    X = random.normal(size=(n, 4)) + y[:, None] * [1.2, 0.8, 0.0, 0.0]
    return X * [1.0, 100.0, 0.01, 1.0] + [0.0, 1000.0, 5.0, 0.0], y


def quick(**settings: Any) -> PartialAUCClassifier:
    """A classifier that trains in a tenth of a second."""
    return PartialAUCClassifier(**{"epochs": 3, "warmup_epochs": 3, "random_state": 0, **settings})


class Noisy(nn.Module):
    """A network with dropout and batch normalisation."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(columns, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1)
        )

    def forward(self, input: Tensor) -> Tensor:
        logits: Tensor = self.layers(input)
        return logits
