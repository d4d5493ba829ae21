"""Any architecture of the timm library."""

from __future__ import annotations

import difflib

from torch import Tensor, nn

from pauc_lightning.arguments import check_flag, check_integer
from pauc_lightning.errors import InputError


class TimmModel(nn.Module):
    """An architecture of the timm library with one output; needs ``pip install 'pauc-lightning[timm]'``.

    Reference: Wightman, *PyTorch Image Models*, 2019, `doi:10.5281/zenodo.4414861
    <https://doi.org/10.5281/zenodo.4414861>`_; `the architectures <https://huggingface.co/docs/timm>`_.

    Args:
        name: timm's name of the architecture, such as ``resnet50`` or ``vit_small_patch16_224``.
        pretrained: Whether to download timm's default weights for it.
        in_channels: Number of colour channels of the input.
    """

    def __init__(self, name: str, pretrained: bool = False, in_channels: int = 3) -> None:
        super().__init__()
        if not isinstance(name, str) or not name:
            raise InputError(
                f"`name` must be timm's name of an architecture, such as resnet50, got {name!r}."
            )
        check_flag("pretrained", pretrained)
        check_integer("in_channels", in_channels, at_least=1)
        try:
            import timm
        except ModuleNotFoundError as error:
            raise InputError(
                "The backbone TimmModel needs the timm library: pip install 'pauc-lightning[timm]'."
            ) from error
        if not timm.is_model(name.split(".")[0]):
            close = difflib.get_close_matches(name, timm.list_models(), n=3)
            hint = f" Close names: {', '.join(close)}." if close else ""
            raise InputError(f"`name={name!r}` is not an architecture of timm {timm.__version__}.{hint}")
        try:
            self.network = timm.create_model(name, pretrained=pretrained, num_classes=1, in_chans=in_channels)
        except Exception as error:  # timm passes on whatever its many architectures and hubs raise
            reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
            raise InputError(
                f"timm {timm.__version__} cannot build name={name!r} with pretrained={pretrained}, "
                f"in_channels={in_channels} ({reason}): choose another architecture, or pretrained=false without a "
                "network connection."
            ) from error

    def forward(self, input: Tensor) -> Tensor:
        """Return logits of shape ``(B, 1)`` for images of shape ``(B, C, H, W)``."""
        logits: Tensor = self.network(input)
        return logits
