"""Any architecture of the timm library."""

from __future__ import annotations

import difflib
from typing import Any, ClassVar

from torch import Tensor, nn

from pauc_lightning.arguments import check_flag, check_integer, check_path
from pauc_lightning.errors import InputError
from pauc_lightning.models.weights_file import load_weights


class TimmModel(nn.Module):
    """An architecture of the timm library with one output; needs ``pip install 'pauc-lightning[timm]'``.

    Reference: Wightman, *PyTorch Image Models*, 2019, `doi:10.5281/zenodo.4414861
    <https://doi.org/10.5281/zenodo.4414861>`_; `the architectures <https://huggingface.co/docs/timm>`_.

    Args:
        name: timm's name of the architecture, such as ``resnet50`` or ``vit_small_patch16_224``.
        pretrained: Whether to download timm's default weights for it.
        in_channels: Number of colour channels of the input.
        weights: A local file of weights for it (.safetensors, .pth or .ckpt), instead of `pretrained`. The weights of
            a classifier of other classes are left out.
        frozen: Whether only the last layer is trained. The others keep their weights and the statistics of batch
            normalisation. `pauc features` computes the inputs of that layer once for all, which is much faster.
    """

    input_files: ClassVar = ("weights",)

    def __init__(
        self,
        name: str,
        pretrained: bool = False,
        in_channels: int = 3,
        weights: str | None = None,
        frozen: bool = False,
    ) -> None:
        super().__init__()
        check_flag("pretrained", pretrained)
        check_flag("frozen", frozen)
        if pretrained and weights is not None:
            raise InputError(
                f"`weights={weights}` and `pretrained=true` are two sources of weights: choose one."
            )
        if frozen and not pretrained and weights is None:
            raise InputError(
                "`frozen=true` would keep random weights: give `weights`, a file, or `pretrained=true`."
            )
        self.network = timm_network(
            name, pretrained=pretrained, weights=weights, in_channels=in_channels, n_outputs=1
        )
        self.frozen = frozen
        if frozen:
            last = classifier_names(self.network)
            for key, parameter in self.network.named_parameters():
                parameter.requires_grad = any(key.startswith(f"{layer}.") for layer in last)

    def train(self, mode: bool = True) -> TimmModel:
        """Switch between training and evaluation; a frozen network always behaves as in evaluation."""
        super().train(mode)
        if self.frozen:
            self.network.eval()
        return self

    def forward(self, input: Tensor) -> Tensor:
        """Return logits of shape ``(B, 1)`` for images of shape ``(B, C, H, W)``."""
        logits: Tensor = self.network(input)
        return logits


def timm_network(
    name: Any,
    *,
    pretrained: bool,
    weights: str | None,
    in_channels: int = 3,
    n_outputs: int,
    argument: str = "name",
) -> nn.Module:
    """A network of the timm library.

    Args:
        name: timm's name of the architecture.
        pretrained: Whether to download timm's default weights.
        weights: A local file of weights.
        in_channels: Number of colour channels of the input.
        n_outputs: Number of outputs; 0 for the features that the classifier would get.
        argument: The argument that gives the name, for messages.
    """
    if not isinstance(name, str) or not name:
        raise InputError(
            f"`{argument}` must be timm's name of an architecture, such as resnet50, got {name!r}."
        )
    check_integer("in_channels", in_channels, at_least=1)
    if weights is not None:
        check_path("weights", weights)
    try:
        import timm
    except ModuleNotFoundError as error:
        raise InputError(
            "The networks of TimmModel need the timm library: pip install 'pauc-lightning[timm]'."
        ) from error
    if not timm.is_model(name.split(".")[0]):
        close = difflib.get_close_matches(name, timm.list_models(), n=3)
        hint = f" Close names: {', '.join(close)}." if close else ""
        raise InputError(f"`{argument}={name!r}` is not an architecture of timm {timm.__version__}.{hint}")
    try:
        network: nn.Module = timm.create_model(
            name, pretrained=pretrained, num_classes=n_outputs, in_chans=in_channels
        )
    except Exception as error:  # timm passes on whatever its many architectures and hubs raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(
            f"timm {timm.__version__} cannot build {argument}={name!r} with pretrained={pretrained}, "
            f"in_channels={in_channels} ({reason}): choose another architecture, or pretrained=false without a "
            "network connection."
        ) from error
    if n_outputs > 0:
        _narrow_last_layer(network)
    if weights is not None:
        load_weights(network, weights, left_out=classifier_names(network))
    return network


def _narrow_last_layer(network: nn.Module) -> None:
    """Draw the last layer again, as torch does, where timm's weights would saturate a single output.

    timm draws those of EfficientNets and MobileNets from ±1/sqrt(outputs). With one output that is ±1, and over a
    thousand features give logits with a standard deviation of up to 8: the sigmoid has no slope there, and the first
    gradients wreck pretrained weights.
    """
    layers = dict(network.named_modules())
    for name in classifier_names(network):
        layer = layers.get(name)  # timm's encoders name one that they do not have
        if isinstance(layer, (nn.Linear, nn.Conv2d)):
            spread = layer.weight.detach().flatten(1).norm(dim=1).max()  # of the logits of unit features
            if spread > 1:
                layer.reset_parameters()


def classifier_names(network: nn.Module) -> tuple[str, ...]:
    """The names of the last layer, or of the last layers of a distilled network."""
    names: Any = pretrained_config(network).get("classifier") or ()
    return (names,) if isinstance(names, str) else tuple(names)


def pretrained_config(network: nn.Module) -> dict[str, Any]:
    """The notes of timm about a network: size and normalisation of its images, the name of its classifier."""
    config: Any = getattr(network, "pretrained_cfg", {})
    return dict(config)
