"""A pretrained network without its classifier."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pauc_lightning.errors import InputError
from pauc_lightning.features.folding import folded
from pauc_lightning.features.recipe import Recipe


class FeatureNetwork(nn.Module):
    """Maps images as bytes to the features that the network's classifier would get.

    It is meant for evaluation: batch normalisation uses its stored statistics, so the features of an image do not
    depend on the others of its batch.

    Args:
        network: A network of the timm library without classifier, see :func:`timm_network`.
        recipe: How images become its inputs.
    """

    def __init__(self, network: nn.Module, recipe: Recipe) -> None:
        super().__init__()
        self.recipe = recipe
        self.mean: Tensor
        self.std: Tensor
        self.register_buffer("mean", torch.tensor(recipe.mean).view(3, 1, 1))
        self.register_buffer("std", torch.tensor(recipe.std).view(3, 1, 1))
        # On a CPU this layout and the folding each take about a third off the time of small convolutional networks.
        self.network: nn.Module = network.to(memory_format=torch.channels_last)
        self.eval()
        size = recipe.image_size
        example = torch.randint(256, (2, 3, size, size), generator=torch.Generator().manual_seed(0))
        self(example)  # refuses a network that cannot take such images
        self.network = folded(self.network, self._scaled(example))

    @torch.inference_mode()
    def forward(self, images: Tensor) -> Tensor:
        """Return features of shape ``(B, F)``, float32, for uint8 images of shape ``(B, 3, H, W)``.

        Raises:
            InputError: If the network cannot take such images, or its features are not finite.
        """
        input = self._scaled(images)
        name, size = self.recipe.network, self.recipe.image_size
        try:
            features: Tensor = self.network(input)
        except torch.cuda.OutOfMemoryError as error:
            raise InputError(
                f"`batch_size`: {len(images)} images of {size} pixels do not fit into the device's memory: lower it."
            ) from error
        except Exception as error:  # networks raise all kinds of exceptions
            reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
            raise InputError(
                f"`network={name}` fails on images of `image_size={size}` ({reason}): leave out `image_size` for the "
                "size that it was made for, or choose a larger one."
            ) from error
        if features.ndim != 2 or features.shape[1] == 0:
            raise InputError(
                f"`network={name}` returns features of shape {tuple(features.shape)} instead of one vector per image: "
                "choose another one."
            )
        features = features.float()
        if not bool(features.isfinite().all()):
            raise InputError(
                f"`network={name}` returns features that are infinite or not a number: check its weights and `std`."
            )
        return features

    def _scaled(self, images: Tensor) -> Tensor:
        scaled = (images.float() / 255 - self.mean) / self.std
        return scaled.contiguous(memory_format=torch.channels_last)
