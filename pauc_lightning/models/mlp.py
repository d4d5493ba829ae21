"""A multilayer perceptron."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn


class MLPScorer(nn.Module):
    """Fully connected layers with ReLU on the flattened input; the input's size is taken from the data.

    Args:
        hidden: Widths of the hidden layers, in order.
        dropout: Probability with which a hidden unit is dropped in training.
    """

    def __init__(self, hidden: Sequence[int] = (128, 64), dropout: float = 0.0) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Flatten()]
        for width in hidden:
            layers += [nn.LazyLinear(width), nn.ReLU()]
            if dropout > 0:
                layers.append(nn.Dropout(dropout))
        self.layers = nn.Sequential(*layers, nn.LazyLinear(1))

    def forward(self, input: Tensor) -> Tensor:
        """Logits of shape ``(B, 1)``."""
        logits: Tensor = self.layers(input)
        return logits
