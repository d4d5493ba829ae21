"""AGD-SBCD's objective; its optimizer and the two together are tested in tests/optim."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from pauc_lightning.errors import InputError
from pauc_lightning.objectives.agd_sbcd import AGDSBCDLoss


def softplus(x: float) -> float:
    return math.log(1 + math.exp(x))


def test_golden_steps() -> None:
    """Positives 0, 1 (samples 3, 1), negatives 0, 1; ℓ = [[.69, 1.31], [.31, .69]]; β = .5, c_λ = .4."""
    objective = AGDSBCDLoss(max_fpr=0.5, train_size=4, first_loop=2, threshold_lr=0.4, surrogate="logistic")
    target, index = torch.tensor([1, 1, 0, 0]), torch.tensor([3, 1, 0, 2])
    losses = [softplus(0), softplus(1), softplus(-1), softplus(0)]
    steps = [
        # λ before    p                    λ after
        (sum(losses) / 4, [0.0, 0.2, 0.0, 0.2], [0.0, 0.2, 0.0, 0.2]),
        # all pairs again; the second of two iterates counts one half in the mean
        (sum(losses) / 4, [0.0, 0.4, 0.0, 0.4], [0.0, 0.3, 0.0, 0.3]),
        # the new loop starts at the mean .3, its step size is half: .3 + .2·(1 − .5)
        (sum(losses) / 4, [0.0, 0.4, 0.0, 0.4], [0.0, 0.4, 0.0, 0.4]),
        # .31 < .4: half of sample 1's pairs, so it rests; sample 3 goes on, seven eighths of it into the mean
        ((sum(losses) - losses[2]) / 4, [0.0, 0.4, 0.0, 0.5], [0.0, 0.4, 0.0, 0.4875]),
    ]
    for value, lambda_, lambda_mean in steps:
        loss = objective(torch.tensor([0.0, 1.0, 0.0, 1.0]), target, index)
        objective.loops.advance()
        assert loss.item() == pytest.approx(value)
        assert objective.lambda_.tolist() == pytest.approx(lambda_)
        assert objective.lambda_mean.tolist() == pytest.approx(lambda_mean)


def test_golden_gradient() -> None:
    objective = AGDSBCDLoss(max_fpr=0.5, train_size=1, surrogate="logistic")
    objective.lambda_mean.fill_(0.5)
    scores = torch.tensor([1.0, 0.0, 1.0], requires_grad=True)  # losses .31 and .69: one above .5
    objective(scores, torch.tensor([1, 0, 0]), torch.tensor([0, 0, 0])).backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == pytest.approx([-0.25, 0.0, 0.25])


def test_a_duplicated_index_makes_two_steps_from_the_same_state() -> None:
    objective = AGDSBCDLoss(0.5, train_size=2, first_loop=4, threshold_lr=0.1, surrogate="logistic")
    objective.lambda_mean[1] = 0.5
    # losses .31, .69 of the score 1: half above; losses .69, 1.31 of the score 0: both above
    scores, target = torch.tensor([1.0, 0.0, 0.0, 1.0]), torch.tensor([1, 1, 0, 0])
    objective(scores, target, torch.tensor([1, 1, 0, 0]))
    assert objective.lambda_.tolist() == pytest.approx([0.0, 0.5 + 0 + 0.05])


def test_the_limit_is_the_exact_risk() -> None:
    """For fixed scores the thresholds settle where the loss is β times the mean of the top ⌊βn₋⌋ losses."""
    rng = np.random.default_rng(3)
    pos, neg = rng.normal(size=4), rng.normal(size=10)
    expected = 0.3 * np.mean([np.sort(np.log1p(np.exp(neg - p)))[-3:].mean() for p in pos])
    objective = AGDSBCDLoss(0.3, train_size=14, first_loop=10**6, threshold_lr=0.01, surrogate="logistic")
    scores, target = torch.tensor(np.r_[pos, neg]), torch.tensor([1] * 4 + [0] * 10)
    for _ in range(1500):
        loss = objective(scores, target, torch.arange(14))
        objective.loops.advance()
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    assert objective.eval()(scores, target).item() == pytest.approx(expected, rel=1e-6)


def test_a_two_way_region_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"one-way regions only, got min_tpr=0\.7: use min_tpr=0, or another"
    ):
        AGDSBCDLoss(max_fpr=0.3, min_tpr=0.7, train_size=5)
