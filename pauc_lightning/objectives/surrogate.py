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


@dataclass(frozen=True)
class Surrogate:
    """A pairwise loss ℓ of the gap s = f⁺ − f⁻, with the derivative that the blockwise backward pass needs.

    Example:
        >>> gaps = torch.tensor([0.0, 1.0])
        >>> SURROGATES["squared"].value(gaps), SURROGATES["squared"].derivative(gaps)
        (tensor([1., 0.]), tensor([-2.,  0.]))
    """

    value: Callable[[Tensor], Tensor]
    derivative: Callable[[Tensor], Tensor]
    needs_unit_scores: bool
    """Whether scores must be in [0, 1]: the squared loss penalises gaps above 1, although their order is right."""


SURROGATES: dict[SurrogateName, Surrogate] = {
    # ℓ(s) = (1 − s)², the paper's choice for every method of its comparison
    "squared": Surrogate(
        value=lambda s: (1 - s).square(), derivative=lambda s: 2 * (s - 1), needs_unit_scores=True
    ),
    # ℓ(s) = log(1 + e^{−s}), for AGD-SBCD in Yao et al., NeurIPS 2022, https://arxiv.org/abs/2203.01505
    "logistic": Surrogate(
        value=lambda s: functional.softplus(-s),
        derivative=lambda s: -torch.sigmoid(-s),
        needs_unit_scores=False,
    ),
}


def get_surrogate(name: SurrogateName) -> Surrogate:
    """The surrogate called ``name``."""
    check_choice("surrogate", name, get_args(SurrogateName))
    return SURROGATES[name]
