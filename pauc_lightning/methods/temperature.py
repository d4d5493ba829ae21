"""The temperature of the sigmoid through which an objective sees the logits."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from torch import Tensor

from pauc_lightning.arguments import check_number
from pauc_lightning.objectives.region_members import RegionMembers
from pauc_lightning.region import Region

Score = Literal["sigmoid", "logit"]
Auto = Literal["auto"]

QUANTILE = 0.9
WIDTH = 3.0
"""With T as below, this share of the region's logits lies within ±WIDTH·T: there, the sigmoid's slope is at least
18 % of its largest."""

SMALLEST = 0.5
"""The logits of a short warm-up are small, but they will grow, and T stays."""


def check_temperature(temperature: Any) -> None:
    """Refuse anything but "auto" and a number above 0."""
    if temperature != "auto":
        check_number("temperature", temperature, above=0, hint='or write "auto"')


def fitting_temperature(logits: Tensor, target: Tensor, region: Region) -> float:
    """Return the T for which nine in ten of the region's logits have |z|/T ≤ 3, where the sigmoid has slope.

    Logits of a network that has nearly fitted its training data are large: their sigmoids are 0 or 1 and hardly move.
    Logits of a simple model are small: their sigmoids differ little, and the bounded loss acts like a linear one.

    Args:
        logits: The training set's logits, shape ``(n,)``.
        target: 1 for positives, 0 for negatives, shape ``(n,)``.
        region: The region of the loss.

    Returns:
        T, a number that float32 holds exactly; 1 if a class is missing, and :data:`SMALLEST` at least.

    Example:
        >>> logits, target = torch.tensor([6.0, 6.0, -6.0, -30.0]), torch.tensor([1, 1, 0, 0])
        >>> fitting_temperature(logits, target, Region(max_fpr=0.5))
        2.0
    """
    members = RegionMembers.of(logits, target, region)
    if members is None:
        return 1.0
    sizes = logits[torch.cat(members)].abs()
    # Not torch.quantile, which refuses more than 2^24 values.
    rank = math.ceil(QUANTILE * len(sizes))
    return max(SMALLEST, float((sizes.kthvalue(rank).values / WIDTH).float()))
