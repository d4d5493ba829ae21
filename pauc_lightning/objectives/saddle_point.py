"""The saddle point of PAUCI's and UPAUCI's objective for fixed scores, by which training can be judged."""

from __future__ import annotations

import torch
from torch import Tensor

from pauc_lightning.objectives.base import check_both_classes
from pauc_lightning.objectives.minimax import BOXES, MinimaxObjective, N, P
from pauc_lightning.objectives.upauci import UPAUCILoss

_MOST_ROUNDS = 500
_TOLERANCE = 1e-10
_BISECTIONS = 60


@torch.no_grad()
def saddle_point(objective: MinimaxObjective, scores: Tensor, target: Tensor) -> dict[str, float]:
    """The variables at which the objective has its saddle point, if the scores do not change.

    At this point the selection's mean weight is β over the negatives, which determines s', and α over the positives,
    which determines s; b and a are the means of the scores under these weights, and γ = (b − a)/(1 + ω). The weights
    depend on all of them, so these equations are repeated until nothing changes. With exact selection
    (:func:`exact_point`) the weights are 0 and 1, and once is enough.

    Args:
        objective: The objective; its own variables are neither read nor changed.
        scores: Sigmoid outputs in [0, 1], shape ``(n,)``.
        target: 1 for positives, 0 for negatives, shape ``(n,)``.

    Returns:
        The values by the variables' names: ``a``, ``b``, ``gamma``, ``s_neg``, and two-way ``s_pos``.

    Example:
        >>> from pauc_lightning.objectives import PAUCILoss
        >>> scores, target = torch.tensor([0.9, 0.6, 0.2]), torch.tensor([1, 0, 0])
        >>> point = saddle_point(PAUCILoss(max_fpr=0.5), scores, target)  # κ = 2: the easy negative counts, too
        >>> {name: round(value, 2) for name, value in point.items()}
        {'a': 0.9, 'b': 0.44, 'gamma': -0.46, 's_neg': 0.47}
    """
    f, y, _ = objective.checked(scores.double(), target, None, uses_index=False)
    check_both_classes(y)
    positives, negatives = f[y > 0], f[y == 0]
    region, is_two_way = objective.region, objective.region.is_two_way
    a, b = positives.mean(), negatives.mean()
    s_neg, s_pos = f.new_zeros(()), f.new_zeros(())
    for _ in range(_MOST_ROUNDS):
        before = torch.stack([a, b])
        gamma = (b - a) / (1 + objective.omega)
        s_neg, weights = _selection(objective, N(negatives, b, gamma), region.beta, BOXES["s_neg"])
        b = (weights * negatives).sum() / weights.sum()
        if is_two_way:
            s_pos, weights = _selection(objective, P(positives, a, gamma), region.alpha, BOXES["s_pos"])
            a = (weights * positives).sum() / weights.sum()
        if bool((torch.stack([a, b]) - before).abs().max() < _TOLERANCE):
            break
    point = {"a": a, "b": b, "gamma": (b - a) / (1 + objective.omega), "s_neg": s_neg}
    if is_two_way:
        point["s_pos"] = s_pos
    return {name: float(value) for name, value in point.items()}


def exact_point(objective: MinimaxObjective, scores: Tensor, target: Tensor) -> dict[str, float]:
    """The same for exact selection, in closed form: where the variables start after a warm-up.

    The arguments are those of :func:`saddle_point`.
    """
    region = objective.region
    exact = UPAUCILoss(region.max_fpr, region.min_tpr, omega=objective.omega).double()
    exact.initialize_(scores.double().cpu(), target.cpu())
    return {name: float(value) for name, value in exact.variables().items()}


def _selection(
    objective: MinimaxObjective, losses: Tensor, fraction: float, box: tuple[float, float]
) -> tuple[Tensor, Tensor]:
    """The threshold in its box at which the mean weight is ``fraction``, and the weights there."""
    low, high = (losses.new_tensor(bound) for bound in box)

    def weights(threshold: Tensor) -> Tensor:
        return objective.select(losses - threshold, None)[1]

    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if bool(weights(middle).mean() >= fraction):
            low = middle
        else:
            high = middle
    return low, weights(low)
