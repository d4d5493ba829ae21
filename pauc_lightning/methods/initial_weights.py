"""Load the backbone of an earlier run."""

from __future__ import annotations

from torch import nn

from pauc_lightning.checkpoint_io import read_checkpoint
from pauc_lightning.errors import InputError
from pauc_lightning.models.weights_file import differences, in_short

_PREFIX = "backbone."


def load_initial_weights(backbone: nn.Module, path: str) -> None:
    """Load the backbone's weights from a checkpoint of any method; if they do not fit, nothing is changed."""
    try:
        state = read_checkpoint(path)["state_dict"]
    except InputError as error:
        raise InputError(f"`init_weights` cannot be used: {error}") from error
    weights = {
        key.removeprefix(_PREFIX): value
        for key, value in (state.items() if isinstance(state, dict) else ())
        if key.startswith(_PREFIX)
    }
    found = differences(weights, backbone.state_dict(keep_vars=True))
    if found:
        raise InputError(
            f"`init_weights={path}` does not fit the backbone {type(backbone).__name__}: {in_short(found)}. Use the "
            "backbone that the checkpoint was trained with, see the config.yaml beside it, or another checkpoint."
        )
    backbone.load_state_dict(weights)
