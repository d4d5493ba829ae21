"""At the saddle point the gradients vanish, and exact selection gives the closed form."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from torch import Tensor

from pauc_lightning.errors import InputError
from pauc_lightning.objectives import MinimaxObjective, PAUCILoss, UPAUCILoss
from pauc_lightning.objectives.saddle_point import exact_point, saddle_point


def sample(n: int = 400) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(0)
    labels = (np.arange(n) % 4 == 0).astype(np.int64)
    scores = 1 / (1 + np.exp(-(1.5 * rng.standard_normal(n) + 1.5 * labels - 1)))
    return torch.from_numpy(scores), torch.from_numpy(labels)


def objectives() -> list[MinimaxObjective]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            PAUCILoss(0.3),
            PAUCILoss(0.3, 0.7),
            PAUCILoss(0.1, 0.5, kappa=6, omega=0.5),
            UPAUCILoss(0.3, omega=0.1),
            UPAUCILoss(0.3, 0.7, omega=0.5),
            UPAUCILoss(0.3, 0.7, omega=0.1, weights="ascent", train_size=400),
        ]


@pytest.mark.parametrize("objective", objectives(), ids=str)
def test_gradients_vanish_and_descent_variables_are_at_their_minimum(objective: MinimaxObjective) -> None:
    scores, labels = sample()
    point = saddle_point(objective, scores, labels)
    objective = objective.double().eval()  # stored weights are at their inner maximum

    def value(**moved: float) -> float:
        with torch.no_grad():
            for name, number in {**point, **moved}.items():
                getattr(objective, name).fill_(number)
            return float(objective(scores, labels))

    value()
    objective(scores, labels).backward()
    for name in point:
        assert abs(float(getattr(objective, name).grad)) < 1e-6, name
    best = value()
    for name in ("a", "b", "s_neg", "s_pos"):
        if name in point:
            assert value(**{name: point[name] + 0.01}) > best < value(**{name: point[name] - 0.01})
    assert set(point) == {"a", "b", "gamma", "s_neg"} | ({"s_pos"} if objective.region.is_two_way else set())


def test_a_sharp_selection_is_the_exact_one() -> None:
    scores, labels = sample()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sharp = saddle_point(PAUCILoss(0.3, 0.7, kappa=1e5), scores, labels)
    exact = exact_point(PAUCILoss(0.3, 0.7), scores, labels)
    positives, negatives = scores[labels == 1].sort().values, scores[labels == 0].sort().values
    a, b = float(positives[:30].mean()), float(negatives[-90:].mean())
    by_hand = {"a": a, "b": b, "gamma": b - a}
    for name, number in by_hand.items():
        assert exact[name] == pytest.approx(number)
        assert sharp[name] == pytest.approx(number, abs=1e-3)
    lowest = float(negatives[-90])
    assert exact["s_neg"] == pytest.approx((lowest - b) ** 2 + 2 * (1 + b - a) * lowest)


def test_the_objective_keeps_its_variables() -> None:
    objective = PAUCILoss(0.3)
    before = {name: value.clone() for name, value in objective.variables().items()}
    saddle_point(objective, *sample())
    exact_point(objective, *sample())
    assert all(torch.equal(value, before[name]) for name, value in objective.variables().items())


def test_one_class_has_no_saddle_point() -> None:
    scores, _ = sample()
    with pytest.raises(InputError, match="both classes"):
        saddle_point(PAUCILoss(0.3), scores, torch.ones(len(scores)))
