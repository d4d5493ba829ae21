"""A small convolutional network."""

from __future__ import annotations

from torch import Tensor, nn


class SmallCNN(nn.Module):
    """Three convolution stages with batch normalisation for small images (8×8 up to about 64×64).

    Args:
        width: Channels of the first stage; each later stage doubles them.
        in_channels: Colour channels of the input; taken from the data when left out.
    """

    def __init__(self, width: int = 32, in_channels: int | None = None) -> None:
        super().__init__()
        stages: list[nn.Module] = []
        for stage in range(3):
            channels = width * 2**stage
            convolution = (
                nn.Conv2d(channels // 2, channels, 3, padding=1, bias=False)
                if stage > 0
                else nn.LazyConv2d(channels, 3, padding=1, bias=False)
                if in_channels is None
                else nn.Conv2d(in_channels, channels, 3, padding=1, bias=False)
            )
            stages += [convolution, nn.BatchNorm2d(channels), nn.ReLU(), nn.MaxPool2d(2)]
        self.features = nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(width * 4, 1)

    def forward(self, input: Tensor) -> Tensor:
        """Logits of shape ``(B, 1)`` for images of shape ``(B, C, H, W)``."""
        logits: Tensor = self.head(self.features(input))
        return logits
