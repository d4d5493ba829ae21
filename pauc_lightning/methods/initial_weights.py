"""Load the backbone of an earlier run."""

from __future__ import annotations

from torch import Tensor, nn

from pauc_lightning.checkpoint_io import read_checkpoint
from pauc_lightning.errors import InputError

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
    differences = _differences(weights, backbone.state_dict(keep_vars=True))
    if differences:
        raise InputError(
            f"`init_weights={path}` does not fit the backbone {type(backbone).__name__}: {'; '.join(differences[:3])}"
            f"{f'; and {len(differences) - 3} more differences' if len(differences) > 3 else ''}. Use the backbone "
            "that the checkpoint was trained with, see the config.yaml beside it, or another checkpoint."
        )
    backbone.load_state_dict(weights)


def _differences(given: dict[str, Tensor], wanted: dict[str, Tensor]) -> list[str]:
    """Describe the differences that keep the weights from being loaded; a lazy layer takes any shape."""
    shapes = [
        f"`{key}` has shape {tuple(given[key].shape)} there and {tuple(value.shape)} here"
        for key, value in wanted.items()
        if key in given
        and not isinstance(value, (nn.UninitializedParameter, nn.UninitializedBuffer))
        and given[key].shape != value.shape
    ]
    missing = [f"`{key}` is missing there" for key in wanted if key not in given]
    surplus = [f"`{key}` is unknown here" for key in given if key not in wanted]
    return [*shapes, *missing, *surplus]
