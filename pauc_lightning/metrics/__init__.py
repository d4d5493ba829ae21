"""Metrics for the partial AUC: torchmetrics classes here, stateless functions in ``functional``.

The class is imported when it is first used, so that ``metrics.functional`` loads torch and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pauc_lightning.metrics.partial_auc import BinaryPartialAUC

__all__ = ["BinaryPartialAUC"]


def __getattr__(name: str) -> object:
    """Import the class of that name."""
    if name == "BinaryPartialAUC":
        from pauc_lightning.metrics.partial_auc import BinaryPartialAUC

        return BinaryPartialAUC
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the classes before they are imported, for completion in a notebook."""
    return sorted({*globals(), *__all__})
