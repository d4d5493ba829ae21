"""The input check that the networks for images share."""

from __future__ import annotations

from torch import Tensor, nn

from pauc_lightning.errors import InputError


def check_images(network: nn.Module, first: nn.Conv2d, input: Tensor) -> None:
    """Reject an input that the network's first convolution cannot take, with a clearer message than torch's.

    Args:
        network: The network, for its name.
        first: Its first convolution; one that is still lazy takes any number of channels.
        input: The network's input.

    Raises:
        InputError: If the input is not a batch of images, or has another number of channels.
    """
    channels = first.in_channels or "C"
    if input.ndim != 4 or input.shape[1] != (first.in_channels or input.shape[1]):
        raise InputError(
            f"{type(network).__name__} takes images of shape (B, {channels}, H, W), got {tuple(input.shape)}: set "
            "`in_channels`, or choose another backbone, such as MLPScorer, for inputs that are not images."
        )
