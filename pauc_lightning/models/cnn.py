"""A small convolutional network."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pauc_lightning.arguments import check_integer
from pauc_lightning.models.images import check_images


class SmallCNN(nn.Module):
    """Three strided convolutions with batch normalisation for small images (8×8 up to about 64×64).

    It is fast enough for many runs on a CPU: with strides instead of pooling and the channels-last layout, an epoch
    of CIFAR-10-LT takes seconds.

    Args:
        width: Number of channels of the first convolution; each later one doubles it.
        in_channels: Number of colour channels of the input; taken from the data when left out.
    """

    def __init__(self, width: int = 32, in_channels: int | None = None) -> None:
        super().__init__()
        check_integer("width", width, at_least=1, hint="it is a number of channels")
        if in_channels is not None:
            check_integer("in_channels", in_channels, at_least=1)
        first = (
            nn.LazyConv2d(width, 3, stride=2, padding=1, bias=False)
            if in_channels is None
            else nn.Conv2d(in_channels, width, 3, stride=2, padding=1, bias=False)
        )
        layers: list[nn.Module] = [first, nn.BatchNorm2d(width), nn.ReLU()]
        for channels in (width, 2 * width):
            convolution = nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1, bias=False)
            layers += [convolution, nn.BatchNorm2d(2 * channels), nn.ReLU()]
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(4 * width, 1)

    def forward(self, input: Tensor) -> Tensor:
        """Return logits of shape ``(B, 1)`` for images of shape ``(B, C, H, W)``."""
        first = self.features[0]
        assert isinstance(first, nn.Conv2d)
        check_images(self, first, input)
        logits: Tensor = self.head(self.features(input.contiguous(memory_format=torch.channels_last)))
        return logits
