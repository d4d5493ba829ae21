"""A multilayer perceptron."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from pauc_lightning.arguments import check_integer, check_number
from pauc_lightning.errors import InputError


class MLPScorer(nn.Module):
    """Fully connected layers with ReLU on the flattened input, whose size is taken from the data.

    Args:
        hidden: Widths of the hidden layers, in order.
        dropout: Probability of dropping a hidden unit in training.
    """

    def __init__(self, hidden: Sequence[int] = (128, 64), dropout: float = 0.0) -> None:
        super().__init__()
        if isinstance(hidden, str) or not isinstance(hidden, Sequence):
            raise InputError(f"`hidden` must be a list of widths, got {hidden!r}: one layer is [{hidden}].")
        for width in hidden:
            check_integer("hidden", width, at_least=1, hint="it lists the widths of the hidden layers")
        check_number("dropout", dropout, at_least=0, below=1, hint="it is the probability to drop a unit")
        layers: list[nn.Module] = [nn.Flatten()]
        for width in hidden:
            layers += [nn.LazyLinear(width), nn.ReLU()]
            if dropout > 0:
                layers.append(nn.Dropout(dropout))
        self.layers = nn.Sequential(*layers, nn.LazyLinear(1))

    def forward(self, input: Tensor) -> Tensor:
        """Return logits of shape ``(B, 1)`` for inputs of shape ``(B, ...)``."""
        logits: Tensor = self.layers(input)
        return logits
