"""The sigmoid and its inverse in float64, from operations that ONNX Runtime computes in full."""

from __future__ import annotations

import torch
from torch import Tensor


def sigmoid(logits: Tensor) -> Tensor:
    """Return 1/(1 + exp(-logit)), with all digits of small values, which ONNX Runtime's own sigmoid lacks.

    That one computes them as 1 - (1 - p), and returns 0 for logits below -37.

    Example:
        >>> sigmoid(torch.tensor([-40.0, 0.0, 2.0], dtype=torch.float64))
        tensor([4.2484e-18, 5.0000e-01, 8.8080e-01], dtype=torch.float64)
    """
    small = torch.exp(-logits.abs())
    return torch.where(logits >= 0, torch.ones_like(small), small) / (1 + small)


def odds_of_score(logits: Tensor, score: Tensor, lowest: Tensor, highest: Tensor) -> Tensor:
    """Return the log-odds that a calibrator finds in a score, given the logit that the score is the sigmoid of.

    A score close to 1 is rounded, and its log-odds are those of the rounded score; a small one keeps its logit.

    Args:
        logits: float64, shape ``(n,)``.
        score: Their sigmoid.
        lowest: The smallest log-odds of a score.
        highest: The largest score below 1.
    """
    inside = torch.minimum(score, highest)
    return torch.where(logits > 0, torch.log(inside) - torch.log1p(-inside), torch.maximum(logits, lowest))
