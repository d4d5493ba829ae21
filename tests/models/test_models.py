from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from pauc_lightning import InputError
from pauc_lightning.models import LinearScorer, MLPScorer, ResNet18, SmallCNN, TimmModel


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (LinearScorer(), (5,)),
        (MLPScorer(hidden=(8,), dropout=0.1), (1, 4, 4)),
        (SmallCNN(width=4), (1, 8, 8)),
        (SmallCNN(width=4, in_channels=3), (3, 32, 32)),
        (ResNet18(), (3, 32, 32)),
        (ResNet18(stem="small", in_channels=1), (1, 16, 16)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nn.Module) else str(value),
)
def test_one_logit_per_sample_and_gradients_everywhere(model: nn.Module, shape: tuple[int, ...]) -> None:
    logits = model(torch.randn(4, *shape))
    assert logits.shape == (4, 1)
    logits.square().sum().backward()
    assert all(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in model.parameters())


def test_resnet_stems_differ_in_resolution() -> None:
    sizes = {}
    for stem in ("imagenet", "small"):
        model = ResNet18(stem=stem)
        model.network.layer1.register_forward_hook(
            lambda _module, _args, output, stem=stem: sizes.update({stem: output.shape[-1]})
        )
        model(torch.zeros(2, 3, 32, 32))
    assert sizes == {"imagenet": 8, "small": 32}


def test_wrong_pretrained_weights_are_named() -> None:
    with pytest.raises(InputError, match="IMAGENET1K_V1"):
        ResNet18(weights="imagenet")
    with pytest.raises(InputError, match="stem=small"):
        ResNet18(weights="DEFAULT", stem="small")


def test_timm_by_name() -> None:
    pytest.importorskip("timm")
    model = TimmModel("resnet10t", in_channels=1)
    assert model(torch.randn(2, 1, 32, 32)).shape == (2, 1)
    with pytest.raises(InputError, match="resnet18"):
        TimmModel("resnet18x")


@pytest.mark.parametrize("name", ["tf_efficientnet_lite0", "mobilenetv2_050", "resnet18"])
def test_the_logits_of_timm_start_where_the_sigmoid_has_a_slope(name: str) -> None:
    """timm's own EfficientNet and MobileNet with one output start with logits of a standard deviation above 3."""
    timm = pytest.importorskip("timm")
    torch.manual_seed(0)
    images = torch.randn(16, 3, 64, 64)
    assert 0.01 < TimmModel(name)(images).std() < 1
    if name != "resnet18":
        assert timm.create_model(name, num_classes=1)(images).std() > 3


def test_without_timm_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "timm", None)
    with pytest.raises(InputError, match=r"pip install 'pauc-lightning\[timm\]'"):
        TimmModel("resnet18")


@pytest.mark.parametrize(
    ("model", "shape", "message"),
    [
        (
            ResNet18(),
            (4, 1, 8, 8),
            r"ResNet18 takes images of shape \(B, 3, H, W\), got \(4, 1, 8, 8\): set `in_ch",
        ),
        (SmallCNN(in_channels=3), (4, 1, 8, 8), r"SmallCNN takes .* \(B, 3, H, W\), got \(4, 1, 8, 8\)"),
        (SmallCNN(), (4, 64), r"SmallCNN takes .* \(B, C, H, W\), got \(4, 64\)"),
    ],
    ids=["channels", "channels-small", "vectors"],
)
def test_inputs_that_are_not_such_images(model: nn.Module, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        model(torch.randn(shape))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MLPScorer(hidden=[0]), "`hidden` must be a whole number, at least 1, got 0"),
        (lambda: MLPScorer(hidden=[8, -4]), "`hidden` must be a whole number, at least 1, got -4"),
        (lambda: MLPScorer(hidden=[8.5]), "`hidden` must be a whole number"),  # type: ignore[list-item]
        (lambda: MLPScorer(hidden=8), r"`hidden` must be a list of widths, got 8: one layer is \[8\]"),  # type: ignore[arg-type]
        (lambda: MLPScorer(dropout=1.5), r"`dropout` must be a finite number in \[0, 1\), got 1.5"),
        (lambda: MLPScorer(dropout=float("nan")), "`dropout` must be"),
        (lambda: SmallCNN(width=-4), "`width` must be a whole number, at least 1, got -4"),
        (lambda: SmallCNN(in_channels=0), "`in_channels` must be a whole number, at least 1, got 0"),
        (lambda: LinearScorer(bias="no"), "`bias` must be true or false, got 'no'"),  # type: ignore[arg-type]
        (lambda: ResNet18(stem="large"), "`stem` must be one of imagenet, small, got 'large'"),  # type: ignore[arg-type]
        (lambda: ResNet18(in_channels=-1), "`in_channels` must be a whole number"),
        (lambda: TimmModel(""), "`name` must be timm's name"),
        (lambda: TimmModel("resnet18", in_channels=0), "`in_channels` must be a whole number"),
    ],
)
def test_every_setting_is_checked_by_its_name(make: Callable[[], nn.Module], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
