"""AUC-poly and AUC-exp: hand-computed values, and the closed form against the table of pairs."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from pauc_lightning.errors import InputError
from pauc_lightning.objectives import AUCExpLoss, AUCPolyLoss

TARGET = torch.tensor([1, 1, 0, 0])


def scores() -> Tensor:
    return torch.tensor([0.5, 1.0, 0.0, 0.5], dtype=torch.float64, requires_grad=True)


def table_loss(f: Tensor, objective: AUCPolyLoss | AUCExpLoss, two_way: bool) -> Tensor:
    """The definition, pair by pair, with the weight functions written out."""

    def phi(t: Tensor) -> Tensor:
        if isinstance(objective, AUCPolyLoss):
            return (t + 1e-6).pow(objective.gamma)
        return 1 - torch.exp(-objective.gamma * t)

    total = torch.zeros((), dtype=f.dtype)
    positives, negatives = f[TARGET == 1], f[TARGET == 0]
    for positive in positives:
        for negative in negatives:
            weight = phi(negative) * (phi(1 - positive) if two_way else 1)
            total = total + weight * (1 - positive + negative) ** 2
    return total / (len(positives) * len(negatives))


def test_golden_values() -> None:
    """ℓ = [[.25, 1], [0, .25]]; weights of the negatives 0, .5 and of the positives .5, 0."""
    one_way, two_way = (AUCPolyLoss(1.0, t, gamma=2.0)(scores(), TARGET).item() for t in (0.0, 0.5))
    assert one_way == pytest.approx(0.25 * (1 + 0.25) / 4, rel=1e-5)
    assert two_way == pytest.approx(0.25 * 0.25 * 1 / 4, rel=1e-5)
    v = 1 - math.exp(-8 * 0.5)
    one_way, two_way = (AUCExpLoss(1.0, t, gamma=8.0)(scores(), TARGET).item() for t in (0.0, 0.5))
    assert one_way == pytest.approx(v * (1 + 0.25) / 4)
    assert two_way == pytest.approx(v * v * 1 / 4)


def test_golden_gradient_flows_through_the_weights() -> None:
    """One pair f⁺ = f⁻ = .5, φ = t²: loss .0625·1; d/df⁺ = −2·.5·.25 − 2·.0625."""
    f = torch.tensor([0.5, 0.5], dtype=torch.float64, requires_grad=True)
    AUCPolyLoss(min_tpr=0.5, gamma=2.0)(f, torch.tensor([1, 0])).backward()
    assert f.grad is not None
    assert f.grad.tolist() == pytest.approx([-0.375, 0.375], rel=1e-4)


@pytest.mark.parametrize("two_way", [False, True])
@pytest.mark.parametrize(("kind", "gamma"), [(AUCPolyLoss, 0.03), (AUCPolyLoss, 3.0), (AUCExpLoss, 20.0)])
def test_closed_form_equals_the_table(
    kind: type[AUCPolyLoss] | type[AUCExpLoss], gamma: float, two_way: bool
) -> None:
    objective = kind(min_tpr=0.5 if two_way else 0.0, gamma=gamma)
    f, g = scores(), scores()
    loss, reference = objective(f, TARGET), table_loss(g, objective, two_way)
    loss.backward()
    reference.backward()
    torch.testing.assert_close(loss, reference, rtol=1e-12, atol=0)
    torch.testing.assert_close(f.grad, g.grad, rtol=1e-10, atol=1e-14)
    single = objective(scores().float(), TARGET)
    torch.testing.assert_close(single.double(), reference, rtol=1e-5, atol=0)


@pytest.mark.parametrize("kind", [AUCPolyLoss, AUCExpLoss])
def test_without_weights_all_pairs_count_alike(kind: type[AUCPolyLoss] | type[AUCExpLoss]) -> None:
    objective = kind(min_tpr=0.5)
    weighted = objective(scores(), TARGET).item()
    objective.is_weighted = False
    assert objective(scores(), TARGET).item() == pytest.approx((0.25 + 1 + 0.25) / 4)
    objective.is_weighted = True
    assert objective(scores(), TARGET).item() == weighted != pytest.approx((0.25 + 1 + 0.25) / 4)


@pytest.mark.parametrize("gamma", [0.03, 5])
@pytest.mark.parametrize("kind", [AUCPolyLoss, AUCExpLoss])
def test_scores_at_the_ends_stay_finite(kind: type[AUCPolyLoss] | type[AUCExpLoss], gamma: float) -> None:
    f = torch.tensor([0.0, 1.0, 1.0 + 1e-6, 0.0, 1.0, -1e-6], requires_grad=True)  # as rounding leaves them
    loss = kind(min_tpr=0.5, gamma=gamma)(f, torch.tensor([1, 1, 1, 0, 0, 0]))
    loss.backward()
    assert torch.isfinite(loss)
    assert f.grad is not None
    assert torch.isfinite(f.grad).all()


@pytest.mark.parametrize("min_tpr", [0.0, 0.5])
@pytest.mark.parametrize("kind", [AUCPolyLoss, AUCExpLoss])
def test_scores_that_are_all_zero_are_a_useless_minimum(
    kind: type[AUCPolyLoss] | type[AUCExpLoss], min_tpr: float
) -> None:
    """No loss is negative, so nothing is better than a network that says nothing; without weights it costs 1."""
    loss, nothing = kind(min_tpr=min_tpr), torch.zeros(len(TARGET))
    assert 0 <= loss(nothing, TARGET).item() < 2e-6
    loss.is_weighted = False
    assert loss(nothing, TARGET).item() == 1


def test_bad_settings_are_named() -> None:
    with pytest.raises(InputError, match="`gamma` must be a finite number above 0, got 0"):
        AUCPolyLoss(gamma=0)
    with pytest.raises(InputError, match="`gamma` must be a finite number above 0, got -1"):
        AUCExpLoss(gamma=-1)
