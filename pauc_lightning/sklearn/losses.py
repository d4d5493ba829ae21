"""The methods by name: the loss of each, and the optimizer that trains it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.optim import AdamW, Optimizer

from pauc_lightning.errors import InputError
from pauc_lightning.nearest import nearest
from pauc_lightning.objectives import (
    AUCExpLoss,
    AUCMLoss,
    AUCPolyLoss,
    CELoss,
    HardCELoss,
    MBLoss,
    MinimaxObjective,
    Objective,
    PartialAUCLoss,
    PAUCILoss,
    SOPALoss,
    SOPASLoss,
    UPAUCILoss,
)
from pauc_lightning.optim import ASGDA
from pauc_lightning.region import Region

LOSSES: dict[str, type[Objective]] = {
    "upauci": UPAUCILoss,
    "pauci": PAUCILoss,
    "partial_auc": PartialAUCLoss,
    "hard_ce": HardCELoss,
    "ce": CELoss,
    "mb": MBLoss,
    "sopa": SOPALoss,
    "sopa_s": SOPASLoss,
    "auc_m": AUCMLoss,
    "auc_poly": AUCPolyLoss,
    "auc_exp": AUCExpLoss,
}
"""All but AGD-SBCD, whose loops of growing length do not fit into a number of epochs."""

_OURS = ("max_fpr", "min_tpr", "prior", "train_size", "weights")
"""Arguments of the losses that the classifier sets, and the stored weights, which need a step of their own."""
_FORGET = 1e9
"""ASGDA's iota: its estimators keep nothing of the past, so a step costs one evaluation of the network."""


def check_method(method: Any, options: Any) -> None:
    """Refuse a method that there is not, and options that its loss does not take.

    Args:
        method: A key of :data:`LOSSES`.
        options: Options of the loss by name, or None.
    """
    if not isinstance(method, str) or method not in LOSSES:
        guess = nearest(method, list(LOSSES)) if isinstance(method, str) else ""
        raise InputError(f"`method` must be one of {', '.join(LOSSES)}, got {method!r}.{guess}")
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise InputError(
            f"`loss_options` must be a dictionary, got {options!r}: write, for example, {{'omega': 0.1}}."
        )
    loss = LOSSES[method]
    takes = sorted(set(inspect.signature(loss).parameters) - {*_OURS, "min_fpr"})
    for option in options:
        if option not in takes:
            known = f"It takes {', '.join(takes)}" if takes else "It takes none"
            raise InputError(
                f"`loss_options` must be options of {loss.__name__}, got {option!r}."
                f"{nearest(str(option), takes)} {known}."
            )


def build_loss(
    method: str, options: Mapping[str, Any] | None, region: Region, *, prior: float, train_size: int
) -> Objective:
    """Build the loss.

    Args:
        method: A key of :data:`LOSSES`.
        options: Options of the loss, checked by :func:`check_method`.
        region: The region of the loss.
        prior: Fraction of positives in the batches.
        train_size: Number of training samples.
    """
    loss = LOSSES[method]
    given = {"prior": prior, "train_size": train_size}
    takes = inspect.signature(loss).parameters
    known = {name: value for name, value in given.items() if name in takes}
    return loss(region.max_fpr, region.min_tpr, **known, **(options or {}))  # type: ignore[arg-type,call-arg]


def build_optimizer(
    network: nn.Module, objective: Objective, learning_rate: float, weight_decay: float
) -> Optimizer:
    """ASGDA for the minimax losses, AdamW for all others; the loss's own variables do not decay.

    Args:
        network: The network.
        objective: The loss.
        learning_rate: Step size of the network.
        weight_decay: Pull of the network's weights towards zero.
    """
    weights: dict[str, Any] = {
        "params": [parameter for parameter in network.parameters() if parameter.requires_grad],
        "lr": learning_rate,
        "weight_decay": weight_decay,
    }
    groups = [weights, *objective.param_groups()]
    if isinstance(objective, MinimaxObjective):
        return ASGDA(groups, iota_descent=_FORGET, iota_ascent=_FORGET)
    return AdamW(groups, lr=learning_rate)
