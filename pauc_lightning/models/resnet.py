"""The paper's backbone."""

from __future__ import annotations

from typing import Literal, get_args

from torch import Tensor, nn

from pauc_lightning.arguments import check_choice, check_integer
from pauc_lightning.errors import InputError
from pauc_lightning.models.images import check_images

Stem = Literal["imagenet", "small"]


class ResNet18(nn.Module):
    """torchvision's ResNet-18 with one output.

    Reference: He, Zhang, Ren and Sun, *Deep Residual Learning for Image Recognition*, CVPR 2016,
    `arXiv:1512.03385 <https://arxiv.org/abs/1512.03385>`_.

    Args:
        stem: ``imagenet`` is torchvision's 7×7 convolution of stride 2 with max-pooling, which the paper uses even at
            32×32; ``small`` is a 3×3 convolution of stride 1 without pooling, better and slower on small images.
        weights: Name of torchvision's pretrained weights, such as ``IMAGENET1K_V1`` or ``DEFAULT``, downloaded
            on first use; null means random weights. They need the ``imagenet`` stem and three channels.
        in_channels: Number of colour channels of the input.
    """

    def __init__(
        self,
        stem: Stem = "imagenet",
        weights: str | None = None,
        in_channels: int = 3,
    ) -> None:
        super().__init__()
        from torchvision.models import ResNet18_Weights, resnet18  # slow to import

        check_choice("stem", stem, get_args(Stem))
        check_integer("in_channels", in_channels, at_least=1)
        if weights is not None:
            names = ["DEFAULT", *(member.name for member in ResNet18_Weights)]
            if weights not in names:
                raise InputError(f"`weights` must be one of {', '.join(names)} or null, got {weights!r}.")
            if stem != "imagenet" or in_channels != 3:
                raise InputError(
                    f"`weights={weights}` fits stem=imagenet with in_channels=3 only, got stem={stem}, "
                    f"in_channels={in_channels}: leave out `weights` or use that stem."
                )
        try:
            self.network = resnet18(weights=None if weights is None else ResNet18_Weights[weights])
        except OSError as error:
            raise InputError(
                f"`weights={weights}` could not be downloaded ({error}): check the network connection, or leave out "
                "`weights` for random ones."
            ) from error
        if stem == "small":
            self.network.conv1 = nn.Conv2d(in_channels, 64, 3, padding=1, bias=False)
            self.network.maxpool = nn.Identity()
        elif in_channels != 3:
            self.network.conv1 = nn.Conv2d(in_channels, 64, 7, stride=2, padding=3, bias=False)
        self.network.fc = nn.Linear(self.network.fc.in_features, 1)

    def forward(self, input: Tensor) -> Tensor:
        """Return logits of shape ``(B, 1)`` for images of shape ``(B, C, H, W)``."""
        check_images(self, self.network.conv1, input)
        logits: Tensor = self.network(input)
        return logits
