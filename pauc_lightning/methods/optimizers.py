"""The optimizers of ``torch.optim`` by name: which there are, which options each takes, and how one is built."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch.optim import Optimizer

from pauc_lightning.errors import InputError
from pauc_lightning.nearest import nearest

_UNUSABLE = {
    "LBFGS": "it evaluates a batch many times per step",
    "SparseAdam": "it needs sparse gradients",
}
_OWN = {"lr": "learning_rate", "momentum": "momentum", "weight_decay": "weight_decay"}
"""Options that have a setting of their own, and its name."""
_SET_BY_METHOD = ("params", "maximize")


def optimizer_names() -> list[str]:
    """The names of all classes of ``torch.optim`` that can train a method."""
    return sorted(
        name
        for name, value in vars(torch.optim).items()
        if isinstance(value, type)
        and issubclass(value, Optimizer)
        and value is not Optimizer
        and name not in _UNUSABLE
    )


def check_optimizer(name: Any, options: Any) -> None:
    """Refuse an optimizer that does not exist or cannot work, and options that it does not take.

    Args:
        name: The class's name in ``torch.optim``.
        options: Its options by name, or None.
    """
    known = optimizer_names()
    if name in _UNUSABLE:
        raise InputError(
            f"`optimizer` must be another one than {name!r}, because {_UNUSABLE[name]}: try AdamW."
        )
    if name not in known:
        guess = nearest(name, known) if isinstance(name, str) else ""
        raise InputError(
            f"`optimizer` must be the name of a class of torch.optim, got {name!r}.{guess} Known: {', '.join(known)}."
        )
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise InputError(
            f"`optimizer_options` must be a mapping, got {options!r}: write, for example, {{betas: [0.9, 0.95]}}."
        )
    takes = sorted(_arguments(name) - {*_OWN, *_SET_BY_METHOD})
    for option in options:
        if option in _OWN:
            raise InputError(f"`optimizer_options` must not name `{option}`: set `{_OWN[option]}` instead.")
        if option not in takes:
            raise InputError(
                f"`optimizer_options` must be options of {name}, got {option!r}.{nearest(str(option), takes)} It takes "
                f"{', '.join(takes)}."
            )


def build_optimizer(
    name: str, options: Mapping[str, Any] | None, groups: list[dict[str, Any]], **own: float
) -> Optimizer:
    """Build the optimizer.

    Args:
        name: The class's name in ``torch.optim``.
        options: Options besides the method's own settings; a list becomes a tuple, as YAML has no tuples.
        groups: The parameter groups.
        own: The step size, momentum and weight decay. An optimizer without momentum does not get it.
    """
    arguments = _arguments(name)
    if own.get("weight_decay", 0) > 0 and "weight_decay" not in arguments:
        raise InputError(
            f"`weight_decay` must be 0 with `optimizer={name}`, which has none, got {own['weight_decay']!r}."
        )
    if any(group.get("maximize") for group in groups) and "maximize" not in arguments:
        raise InputError(
            f"`optimizer={name}` cannot ascend, as this method's variables must: choose another one, such as SGD."
        )
    given = {
        key: tuple(value) if isinstance(value, list) else value for key, value in (options or {}).items()
    }
    settings = {**{key: value for key, value in own.items() if key in arguments}, **given}
    try:
        optimizer: Optimizer = getattr(torch.optim, name)(groups, **settings)
    except (ValueError, TypeError, RuntimeError) as error:
        raise InputError(
            f"`optimizer={name}` cannot be built ({str(error).rstrip('.')}): change `optimizer_options`, or choose "
            "another optimizer."
        ) from error
    return optimizer


def _arguments(name: str) -> set[str]:
    return set(inspect.signature(getattr(torch.optim, name)).parameters)
