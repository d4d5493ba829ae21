"""One home for every default: a method's settings inherit those of its loss and of its optimizer."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def default_of(maker: Callable[..., object], argument: str) -> Any:
    """The default of an argument of a loss's or an optimizer's constructor.

    Example:
        >>> from pauc_lightning.objectives import PAUCILoss
        >>> default_of(PAUCILoss, "kappa")
        2.0
    """
    return inspect.signature(maker).parameters[argument].default
