"""The network of a run, with its trained weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pauc_lightning.errors import InputError
from pauc_lightning.inference.build import build
from pauc_lightning.models.backbone import check_backbone, has_lazy_layers, materialize
from pauc_lightning.own_code import import_class

_PREFIX = "backbone."
_HALVES = (torch.float16, torch.bfloat16)


def trained_network(
    settings: Mapping[str, Any], checkpoint: Mapping[str, Any], code: Path, given: nn.Module | None = None
) -> nn.Module:
    """Build the network that a run's config names, and load the weights of a checkpoint.

    Args:
        settings: The run's config.
        checkpoint: The contents of the checkpoint.
        code: The folder in which the run keeps code of the user's own, for messages.
        given: A network to load the weights into, instead of one that is built.

    Returns:
        The network in evaluation mode, on the CPU, with the weights' own precision (float32 for half precision).
    """
    model = settings["model"] or {}
    if given is not None:
        check_backbone(given)
        network = given
    else:
        _refuse_other_forward(str(model.get("class_path")), code)
        setting = (model.get("init_args") or {}).get("backbone")
        if isinstance(setting, Mapping):
            import_class(str(setting.get("class_path")), code)
            setting = _without_download(setting)
        network = build(nn.Module, setting, "backbone")
    weights = {
        name.removeprefix(_PREFIX): value
        for name, value in checkpoint["state_dict"].items()
        if name.startswith(_PREFIX)
    }
    shape = checkpoint.get("hyper_parameters", {}).get("input_shape")
    if has_lazy_layers(network) and shape is not None:
        network = materialize(network, tuple(shape))
    return _filled(network, weights).eval().requires_grad_(False)


def _refuse_other_forward(class_path: str, code: Path) -> None:
    """Refuse a method of the user's own that scores in another way than by the sigmoid of its network's logit."""
    from pauc_lightning.methods.evaluation import EvaluatedModule  # imports Lightning

    method = import_class(class_path, code)
    for name in ("forward", "predict_step"):
        if getattr(method, name, None) is not getattr(EvaluatedModule, name):
            raise InputError(
                f"{class_path} defines `{name}` of its own, so its scores are more than its network's: load it with "
                f"{method.__name__}.load_from_checkpoint instead."
            )


def _without_download(setting: Mapping[str, Any]) -> Mapping[str, Any]:
    """The setting without timm's pretrained weights, which those of the checkpoint would replace."""
    if str(setting.get("class_path")).rpartition(".")[2] != "TimmModel":
        return setting
    return {**setting, "init_args": {**(setting.get("init_args") or {}), "pretrained": False}}


def _filled(network: nn.Module, weights: Mapping[str, Tensor]) -> nn.Module:
    kinds = {value.dtype for value in weights.values() if value.is_floating_point()}
    if torch.float64 in kinds:
        network = network.double()
    elif kinds & set(_HALVES):
        network = network.float()
    try:
        network.load_state_dict(dict(weights))
    except RuntimeError as error:
        reason = " ".join(str(error).split("\n\t")[-1].split())[:150]
        raise InputError(
            f"the weights do not fit the network {type(network).__name__} ({reason}...): use the version of the class "
            "that the run was trained with."
        ) from error
    return network
