"""Batch normalisation folded into the convolutions before it, for a network that is no longer trained."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import torch
from torch import Tensor, nn

_TOLERANCE = 1e-4  # of the largest feature


@torch.no_grad()
def folded(network: nn.Module, example: Tensor) -> nn.Module:
    """A network that computes the same in evaluation, up to rounding, and in less time.

    With stored statistics, batch normalisation is a factor and a shift of each channel, which the convolution's
    weights can include. Which convolution feeds which normalisation is observed on an example. If the result
    differs, as for convolutions that change their weights themselves, the network is returned as it was.

    Args:
        network: A network in evaluation mode, which is not changed.
        example: An input that it takes.
    """
    expected = network(example)
    faster = copy.deepcopy(network)
    pairs = _pairs(faster, example)
    names = {id(module): name for name, module in faster.named_modules()}
    try:
        for convolution, normalisation in pairs:
            _fold(convolution, normalisation)
            _replace(faster, names[id(normalisation)], _activation(normalisation))
        difference = (faster(example) - expected).abs().max()
    except Exception:  # a network that looks into its own layers
        return network
    return faster if bool(difference <= _TOLERANCE * expected.abs().max()) else network


def _pairs(network: nn.Module, example: Tensor) -> list[tuple[nn.Conv2d, nn.BatchNorm2d]]:
    """The convolutions whose output goes into a batch normalisation, with it; both are used once."""
    made: dict[int, tuple[nn.Conv2d, Tensor]] = {}  # the outputs stay alive, so that their ids stay theirs
    pairs: list[tuple[nn.Conv2d, nn.BatchNorm2d]] = []
    calls: Counter[int] = Counter()

    def after_convolution(module: nn.Module, _: Any, output: Tensor) -> None:
        assert isinstance(module, nn.Conv2d)
        calls[id(module)] += 1
        made[id(output)] = (module, output)

    def before_normalisation(module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        assert isinstance(module, nn.BatchNorm2d)
        calls[id(module)] += 1
        if inputs and id(inputs[0]) in made:
            pairs.append((made[id(inputs[0])][0], module))

    hooks = [
        module.register_forward_hook(after_convolution)
        for module in network.modules()
        if isinstance(module, nn.Conv2d)
    ] + [
        module.register_forward_pre_hook(before_normalisation)
        for module in network.modules()
        if isinstance(module, nn.BatchNorm2d) and module.track_running_stats
    ]
    try:
        network(example)
    finally:
        for hook in hooks:
            hook.remove()
    return [pair for pair in pairs if all(calls[id(module)] == 1 for module in pair)]


def _fold(convolution: nn.Conv2d, normalisation: nn.BatchNorm2d) -> None:
    mean, variance = normalisation.running_mean, normalisation.running_var
    assert mean is not None
    assert variance is not None
    factor = (variance.double() + normalisation.eps).rsqrt()
    shift = -mean.double()
    if convolution.bias is not None:
        shift = shift + convolution.bias
    if normalisation.affine:
        factor = factor * normalisation.weight
        shift = shift * factor + normalisation.bias
    else:
        shift = shift * factor
    weight = convolution.weight
    weight.copy_(weight.double() * factor.view(-1, 1, 1, 1))
    convolution.bias = nn.Parameter(shift.to(weight.dtype))


def _activation(normalisation: nn.BatchNorm2d) -> nn.Module:
    """What is left of a normalisation: nothing, or the activation that timm's layers contain."""
    left = [getattr(normalisation, name, nn.Identity()) for name in ("drop", "act")]
    left = [module for module in left if not isinstance(module, nn.Identity)]
    return nn.Sequential(*left) if left else nn.Identity()


def _replace(network: nn.Module, name: str, module: nn.Module) -> None:
    parent, _, last = name.rpartition(".")
    setattr(network.get_submodule(parent), last, module)
