"""What the networks for images share."""

from __future__ import annotations

from torch import Tensor, nn

from pauc_lightning.errors import InputError


def check_images(network: nn.Module, first: nn.Conv2d, input: Tensor) -> None:
    """Refuse what the network's first convolution cannot take, before torch does so in its own words.

    Args:
        network: The network, for its name.
        first: Its first convolution; one that is still lazy takes any number of channels.
        input: What the network was called with.
    """
    channels = first.in_channels or "C"
    if input.ndim != 4 or input.shape[1] != (first.in_channels or input.shape[1]):
        raise InputError(
            f"{type(network).__name__} takes images of shape (B, {channels}, H, W), got {tuple(input.shape)}: set "
            "`in_channels`, or choose another backbone, such as MLPScorer, for inputs that are not images."
        )
