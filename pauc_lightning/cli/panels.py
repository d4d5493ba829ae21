"""How dashboards arrange the curves: those of a method's variables in a section of their own."""

from __future__ import annotations

from collections.abc import Collection

_SELECTION_WEIGHTS = ("c_neg_", "c_pos_")
"""How the names of the distribution of a method's selection weights c begin."""


def panel_name(name: str, variables: Collection[str]) -> str:
    """The name of a curve in W&B and TensorBoard, which make a section of what comes before the slash.

    Args:
        name: The name in metrics.csv.
        variables: Names of the method's variables.

    Example:
        >>> [panel_name(name, {"a", "b"}) for name in ("train/a", "train/c_neg_mean", "train/loss", "val/pauc")]
        ['variables/a', 'variables/c_neg_mean', 'train/loss', 'val/pauc']
    """
    part, _, rest = name.partition("/")
    is_variable = part == "train" and (rest in variables or rest.startswith(_SELECTION_WEIGHTS))
    return f"variables/{rest}" if is_variable else name
