"""A folded network computes the same; where it would not, it is left as it is."""

from __future__ import annotations

import pytest
import timm
import torch
from torch import Tensor, nn

from pauc_lightning.features.folding import folded


def randomise(network: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                assert module.running_mean is not None
                assert module.running_var is not None
                module.running_mean.normal_(0, 0.3)
                module.running_var.uniform_(0.3, 3)
                if module.affine:
                    module.weight.uniform_(0.5, 1.5)
                    module.bias.normal_(0, 0.3)
    return network.eval()


def n_normalisations(network: nn.Module) -> int:
    return sum(isinstance(module, nn.BatchNorm2d) for module in network.modules())


def check(network: nn.Module, n_left: int) -> None:
    before = {name: value.clone() for name, value in network.state_dict().items()}
    faster = folded(network, torch.rand(2, 3, 32, 32))
    input = torch.randn(3, 3, 32, 32)  # another one
    with torch.no_grad():
        expected = network(input)
        torch.testing.assert_close(
            faster(input), expected, rtol=1e-3, atol=1e-4 * float(expected.abs().max())
        )
    assert n_normalisations(faster) == n_left
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


@pytest.mark.parametrize(
    "name", ["tf_efficientnet_lite0", "mobilenetv3_small_050", "resnet10t", "regnetx_002", "convnext_atto"]
)
def test_networks_of_timm_need_no_normalisation_of_batches(name: str) -> None:
    check(randomise(timm.create_model(name, num_classes=0)), n_left=0)


def block(bias: bool = True, affine: bool = True) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(3, 4, 3, bias=bias), nn.BatchNorm2d(4, affine=affine), nn.ReLU())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_every_kind_of_convolution_and_normalisation(bias: bool, affine: bool) -> None:
    check(randomise(nn.Sequential(block(bias, affine), nn.AdaptiveAvgPool2d(1), nn.Flatten())), n_left=0)


class UsedTwice(nn.Module):
    """The convolution's output also goes elsewhere, so that it must stay as it is."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3)
        self.normalisation = nn.BatchNorm2d(4)

    def forward(self, input: Tensor) -> Tensor:
        found = self.convolution(input)
        together: Tensor = self.normalisation(found) + found
        return together.mean((2, 3))


class Repeated(nn.Module):
    """The same layers twice, with two meanings."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 3, 3)
        self.normalisation = nn.BatchNorm2d(3)

    def forward(self, input: Tensor) -> Tensor:
        once: Tensor = self.normalisation(self.convolution(input))
        return self.normalisation(self.convolution(once)).mean((2, 3))  # type: ignore[no-any-return]


class Standardised(nn.Conv2d):
    """Scales its weights, so that a factor on them has no effect."""

    def forward(self, input: Tensor) -> Tensor:
        return nn.functional.conv2d(input, self.weight / self.weight.norm(), self.bias)


class Inspecting(nn.Module):
    """Reads an attribute of its normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = block()

    def forward(self, input: Tensor) -> Tensor:
        features: Tensor = self.layers(input).mean((2, 3))
        return features * self.layers[1].momentum  # type: ignore[operator]


@pytest.mark.parametrize(
    "network",
    [
        UsedTwice(),
        Repeated(),
        nn.Sequential(Standardised(3, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        Inspecting(),
    ],
    ids=lambda network: type(network).__name__,
)
def test_what_cannot_be_folded_stays(network: nn.Module) -> None:
    check(randomise(network), n_left=1)
