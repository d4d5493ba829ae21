"""A linear scorer."""

from __future__ import annotations

from torch import Tensor, nn

from pauc_lightning.arguments import check_flag


class LinearScorer(nn.Module):
    """A linear scorer wᵀx + w₀ on the flattened input, whose size is taken from the data.

    Args:
        bias: Whether to learn w₀, which changes the sigmoid scores but not the ranking.
    """

    def __init__(self, bias: bool = True) -> None:
        super().__init__()
        check_flag("bias", bias)
        self.layer = nn.LazyLinear(1, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        """Return logits of shape ``(B, 1)`` for inputs of shape ``(B, ...)``."""
        logits: Tensor = self.layer(input.flatten(1))
        return logits
