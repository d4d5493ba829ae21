"""Surrogate losses of a pair: smooth replacements for "the positive is not scored above the negative"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional

from pauc_lightning.arguments import check_choice

SurrogateName = Literal["squared", "logistic"]
"""The surrogates of the published methods."""
AnySurrogateName = Literal["squared", "squared_hinge", "hinge", "logistic", "exponential", "sigmoid"]
"""All surrogates."""


@dataclass(frozen=True)
class Surrogate:
    """A pairwise loss ℓ of the gap s = f⁺ − f⁻, with the derivative that the blockwise backward pass needs.

    Each does not increase with the gap, the squared one up to a gap of 1.

    Example:
        >>> gaps = torch.tensor([0.0, 1.0])
        >>> SURROGATES["squared"].value(gaps), SURROGATES["squared"].derivative(gaps)
        (tensor([1., 0.]), tensor([-2.,  0.]))
    """

    value: Callable[[Tensor], Tensor]
    derivative: Callable[[Tensor], Tensor]
    needs_unit_scores: bool = False
    """Whether scores must be in [0, 1]: the squared loss penalises gaps above 1, although their order is right."""


SURROGATES: dict[AnySurrogateName, Surrogate] = {
    # ℓ(s) = (1 − s)², the paper's choice for every method of its comparison
    "squared": Surrogate(
        value=lambda s: (1 - s).square(), derivative=lambda s: 2 * (s - 1), needs_unit_scores=True
    ),
    # ℓ(s) = ((1 − s)₊)²
    "squared_hinge": Surrogate(
        value=lambda s: (1 - s).clamp(min=0).square(), derivative=lambda s: -2 * (1 - s).clamp(min=0)
    ),
    # ℓ(s) = (1 − s)₊
    "hinge": Surrogate(value=lambda s: (1 - s).clamp(min=0), derivative=lambda s: -(s < 1).to(s.dtype)),
    # ℓ(s) = log(1 + e^{−s}), for AGD-SBCD in Yao et al., NeurIPS 2022, https://arxiv.org/abs/2203.01505
    "logistic": Surrogate(value=lambda s: functional.softplus(-s), derivative=lambda s: -torch.sigmoid(-s)),
    # ℓ(s) = e^{−s}
    "exponential": Surrogate(value=lambda s: torch.exp(-s), derivative=lambda s: -torch.exp(-s)),
    # ℓ(s) = 1/(1 + e^s), bounded: a hopeless pair has no influence
    "sigmoid": Surrogate(
        value=lambda s: torch.sigmoid(-s), derivative=lambda s: -torch.sigmoid(s) * torch.sigmoid(-s)
    ),
}


def get_surrogate(name: SurrogateName) -> Surrogate:
    """The surrogate called ``name``, for the published methods."""
    check_choice("surrogate", name, get_args(SurrogateName))
    return SURROGATES[name]


def get_any_surrogate(name: AnySurrogateName) -> Surrogate:
    """The surrogate called ``name``."""
    check_choice("surrogate", name, get_args(AnySurrogateName))
    return SURROGATES[name]
