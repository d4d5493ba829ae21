"""A backbone that cannot be used ends in one sentence with its name, the shapes and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from methods.training import fit, small_net
from torch import Tensor, nn

from pauc_lightning import InputError
from pauc_lightning.methods import CE, UPAUCI
from pauc_lightning.models import MLPScorer, SmallCNN
from pauc_lightning.models.backbone import logits_of


class Returns(nn.Module):
    """What it is told to make of the logits."""

    def __init__(self, make: Any) -> None:
        super().__init__()
        self.layer = nn.Linear(64, 1)
        self.make = make

    def forward(self, input: Tensor) -> Any:
        return self.make(self.layer(input.flatten(1)))


class UnusedLazyLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.unused = nn.Linear(64, 1), nn.LazyLinear(3)

    def forward(self, input: Tensor) -> Tensor:
        logits: Tensor = self.layer(input.flatten(1))
        return logits


def frozen() -> nn.Module:
    return small_net().requires_grad_(False)


@pytest.mark.parametrize(
    ("backbone", "message"),
    [
        (
            Returns(lambda z: (z, z)),
            r"Returns must return one logit per sample, .*; got a tuple of 2\. Return the tensor",
        ),
        (Returns(lambda z: {"logits": z}), "Returns must return .*; got a dict"),
        (
            Returns(lambda z: z.repeat(1, 2)),
            r"Returns must return .*; got \(\d+, 2\) for an input of shape .* single",
        ),
        (Returns(lambda z: z.mean()), r"Returns must return .*; got \(\)"),
        (Returns(lambda z: (z > 0).long()), "Returns must return floating-point logits, got torch.int64"),
        (
            Returns(lambda z: z.numpy()),
            r"Returns fails on an input of shape .*\(RuntimeError: Can't call numpy.*, test_",
        ),
        (
            nn.Sequential(nn.Flatten(), nn.Linear(7, 1)),
            r"Sequential fails on an input of shape \(\d+, 1, 8, 8\) \(Runt",
        ),
        (nn.Conv2d(3, 1, 8), r"Conv2d fails on an input of shape \(\d+, 1, 8, 8\) .*`in_channels`"),
        (nn.Sequential(nn.Conv2d(1, 1, 9), nn.Flatten()), "Sequential fails on an input .* [Kk]ernel size"),
        (SmallCNN(in_channels=3), r"SmallCNN takes images of shape \(B, 3, H, W\), got"),
        (nn.Flatten(), r"Flatten has no parameters to train \(it has none\)"),
        (frozen(), r"Sequential has no parameters to train \(all are frozen\)"),
        (
            MLPScorer(),
            "MLPScorer has layers that take their size from the data, which is not known: pass `input_shape`",
        ),
        (UnusedLazyLayer(), "UnusedLazyLayer has layers .* does not use must go"),
    ],
    ids=lambda value: "" if isinstance(value, nn.Module) else value[:40],
)
def test_a_backbone_that_cannot_be_used(backbone: nn.Module, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as refused:
        fit(CE(backbone=backbone), tmp_path, max_epochs=1)
    assert "\n" not in str(refused.value)


def test_lazy_layers_that_cannot_take_the_shape() -> None:
    with pytest.raises(InputError, match=r"SmallCNN takes images of shape \(B, C, H, W\), got \(2, 64\)"):
        UPAUCI(backbone=SmallCNN(), input_shape=(64,))
    lazy = nn.Sequential(nn.LazyLinear(4), nn.Linear(5, 1))
    with pytest.raises(
        InputError, match=r"Sequential fails on an input of shape \(2, 64\) \(RuntimeError: .*mat1 and"
    ):
        UPAUCI(backbone=lazy, input_shape=(64,))


def test_both_shapes_of_logits_are_one() -> None:
    net = nn.Sequential(nn.Linear(3, 1))
    flat = nn.Sequential(net, nn.Flatten(0))
    x = torch.randn(4, 3)
    assert logits_of(net, x).shape == (4,)
    assert torch.equal(logits_of(net, x), logits_of(flat, x))
