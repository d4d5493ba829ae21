"""The check of the classifier's arguments, made at the start of ``fit`` as scikit-learn wants it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from pauc_lightning.arguments import check_flag, check_integer, check_number
from pauc_lightning.data.samplers import check_positive_fraction
from pauc_lightning.errors import InputError
from pauc_lightning.region import Region
from pauc_lightning.sklearn.losses import check_method

if TYPE_CHECKING:
    from pauc_lightning.sklearn.classifier import PartialAUCClassifier


def check_settings(model: PartialAUCClassifier) -> None:
    """Refuse arguments that cannot work.

    Raises:
        InputError: With one sentence that names the argument, the value and the remedy.
    """
    Region(model.max_fpr, model.min_tpr)
    check_method(model.method, model.loss_options)
    _check_hidden(model.hidden)
    check_number("dropout", model.dropout, at_least=0, below=1, hint="it is the probability to drop a unit")
    _check_backbone(model.backbone, model.hidden)
    check_flag("standardize", _plain(model.standardize))
    for name in ("warmup_epochs", "epochs"):
        check_integer(name, getattr(model, name), at_least=0)
    if model.warmup_epochs + model.epochs == 0:
        raise InputError("`epochs` and `warmup_epochs` must not both be 0: nothing would be trained.")
    check_integer("batch_size", model.batch_size, at_least=2)
    check_positive_fraction(model.positive_fraction)
    for name in ("learning_rate", "weight_decay"):
        if getattr(model, name) != "auto":
            check_number(name, getattr(model, name), at_least=0, hint='or write "auto"')
    hint = "0.15 holds out 15 % of each class, 0 nothing"
    check_number("validation_fraction", model.validation_fraction, at_least=0, below=1, hint=hint)
    if model.patience is not None:
        check_integer("patience", model.patience, at_least=1, hint="write None to run all epochs")
    if model.target_fpr is None:
        return
    check_number("target_fpr", model.target_fpr, above=0, below=1, hint="for 1 % write 0.01")
    if model.confidence is not None:
        check_number("confidence", model.confidence, above=0, below=1, hint="95 % is 0.95")
    if model.validation_fraction == 0:
        raise InputError(
            f"`target_fpr={model.target_fpr!r}` needs negatives that were not trained on, but "
            "`validation_fraction` is 0: hold some out, for example 0.2."
        )


def _check_hidden(hidden: Any) -> None:
    if isinstance(hidden, str) or not isinstance(hidden, (Sequence, np.ndarray)):
        raise InputError(
            f"`hidden` must list the widths of the hidden layers, got {hidden!r}: one layer is ({hidden},), none is ()."
        )
    for width in hidden:
        check_integer("hidden", width, at_least=1, hint="it lists the widths of the hidden layers")


def _check_backbone(backbone: Any, hidden: Any) -> None:
    if backbone is None:
        return
    if isinstance(backbone, nn.Module) or not callable(backbone):
        kind = f"the network {type(backbone).__name__}" if isinstance(backbone, nn.Module) else repr(backbone)
        raise InputError(
            f"`backbone` must be a function that takes the number of columns and returns a network, got {kind}: every "
            "fit starts from a new one. Write, for example, backbone=lambda columns: torch.nn.Linear(columns, 1)."
        )
    if len(hidden) > 0:
        raise InputError(
            f"`hidden={hidden!r}` describes the network that `backbone` makes itself: give one of the two."
        )


def _plain(value: Any) -> Any:
    """A numpy bool, which a search over an array of settings passes, as a plain one."""
    return bool(value) if isinstance(value, np.bool_) else value
