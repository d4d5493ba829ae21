"""For fixed scores the minimax values equal the pairwise squared risk: the theorems the objectives rest on."""

from __future__ import annotations

import warnings
from statistics import NormalDist
from typing import Literal

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from pauc_lightning.objectives import MinimaxObjective, PAUCILoss, UPAUCILoss
from pauc_lightning.region import Region

Array = NDArray[np.float64]

ONE_WAY = Region(max_fpr=0.3)
TWO_WAY = Region(max_fpr=0.3, min_tpr=0.6)
N_POS, N_NEG = 40, 60  # exact counts: 18 = 0.3 * 60 negatives, 16 = 0.4 * 40 positives


def draw(seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.uniform(size=N_POS) ** rng.uniform(0.3, 1), rng.uniform(size=N_NEG) ** rng.uniform(1, 3)


def hardest(f_pos: Array, f_neg: Array, region: Region) -> tuple[Array, Array]:
    k_pos, k_neg = round(N_POS * (1 - region.min_tpr)), round(N_NEG * region.max_fpr)
    return np.sort(f_pos)[:k_pos], np.sort(f_neg)[::-1][:k_neg]


def pairwise_risk(f_pos: Array, f_neg: Array) -> float:
    return float(np.mean([(1 - (p - n)) ** 2 for p in f_pos for n in f_neg]))


def batch(f_pos: Array, f_neg: Array) -> tuple[Tensor, Tensor]:
    scores = torch.from_numpy(np.concatenate([f_pos, f_neg]))
    return scores, (torch.arange(len(scores)) < len(f_pos)).double()


def set_variables(objective: MinimaxObjective, **values: float) -> None:
    with torch.no_grad():
        for name, value in values.items():
            getattr(objective, name).fill_(value)


def value(objective: MinimaxObjective, scores: Tensor, target: Tensor) -> float:
    return float(objective(scores, target, torch.arange(len(scores))).detach())


def saddle_value(objective: MinimaxObjective, scores: Tensor, target: Tensor) -> float:
    objective.double().initialize_(scores, target, torch.arange(len(scores)))
    return value(objective, scores, target)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("region", [ONE_WAY, TWO_WAY, Region()])
@pytest.mark.parametrize("prior", [None, N_POS / (N_POS + N_NEG)])
@pytest.mark.parametrize("constraint", ["lagrangian", "projection"])
def test_unbiased_saddle_value_is_the_pairwise_risk(
    seed: int, region: Region, prior: float | None, constraint: Literal["lagrangian", "projection"]
) -> None:
    f_pos, f_neg = draw(seed)
    hard_pos, hard_neg = hardest(f_pos, f_neg, region)
    risk = pairwise_risk(hard_pos, hard_neg)
    scores, target = batch(f_pos, f_neg)

    closed_form = UPAUCILoss(region.max_fpr, region.min_tpr, prior=prior, omega=0.0, constraint=constraint)
    stored = UPAUCILoss(
        region.max_fpr,
        region.min_tpr,
        prior=prior,
        omega=0.0,
        constraint=constraint,
        weights="ascent",
        train_size=len(scores),
    )
    assert 1 + saddle_value(closed_form, scores, target) == pytest.approx(risk, abs=1e-10)
    assert 1 + saddle_value(stored, scores, target) == pytest.approx(risk, abs=1e-10)

    found = {name: float(value) for name, value in closed_form.variables().items()}
    assert found["a"] == pytest.approx(hard_pos.mean(), abs=1e-12)
    assert found["b"] == pytest.approx(hard_neg.mean(), abs=1e-12)
    assert found["gamma"] == pytest.approx(hard_neg.mean() - hard_pos.mean(), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("region", [ONE_WAY, TWO_WAY])
def test_optima_solve_the_minimax_problem(seed: int, region: Region) -> None:
    """min over (a, b) of max over γ of min over (s, s'): no a, b does better, and no feasible γ does at the optimum."""
    f_pos, f_neg = draw(seed)
    scores, target = batch(f_pos, f_neg)
    objective = UPAUCILoss(region.max_fpr, region.min_tpr, omega=0.0).double()
    best = saddle_value(objective, scores, target)
    a, b = objective.a.item(), objective.b.item()

    def inner_minimum(a: float, b: float, gamma: float) -> float:
        N = (f_neg - b) ** 2 + 2 * (1 + gamma) * f_neg
        P = (f_pos - a) ** 2 - 2 * (1 + gamma) * f_pos
        thresholds = {"s_neg": np.sort(N)[-18]}
        if region.is_two_way:
            thresholds["s_pos"] = np.sort(P)[-16]
        set_variables(objective, a=a, b=b, gamma=gamma, **thresholds)
        lowest = value(objective, scores, target)
        for name, threshold in thresholds.items():  # the threshold is indeed the minimiser
            for shift in (-0.05, 0.05):
                set_variables(objective, **{name: threshold + shift})
                assert value(objective, scores, target) >= lowest - 1e-12
            set_variables(objective, **{name: threshold})
        return lowest

    def inner_maximum(a: float, b: float) -> float:
        lowest_gamma = max(-a, b - 1) if region.is_two_way else b - 1
        return max(inner_minimum(a, b, gamma) for gamma in [*np.linspace(lowest_gamma, 1, 21), gamma_at_best])

    gamma_at_best = b - a
    assert inner_maximum(a, b) == pytest.approx(best, abs=1e-12)
    for a_shift, b_shift in [(0.1, 0), (-0.1, 0), (0, 0.1), (0, -0.1), (0.03, 0.03), (-0.03, 0.03)]:
        assert inner_maximum(a + a_shift, b + b_shift) > best + 1e-4


@pytest.mark.parametrize("region", [ONE_WAY, TWO_WAY])
def test_weights_are_the_selection(region: Region) -> None:
    f_pos, f_neg = draw(7)
    scores, target = batch(f_pos, f_neg)
    objective = UPAUCILoss(
        region.max_fpr, region.min_tpr, omega=0.0, weights="ascent", train_size=len(scores) + 3, c=0.5
    )
    objective.initialize_(scores, target, torch.arange(len(scores)) + 3)
    assert objective.c is not None
    c = objective.c.numpy()
    hard_pos, hard_neg = hardest(f_pos, f_neg, region)
    expected_pos = np.isin(f_pos, hard_pos) if region.is_two_way else np.full(N_POS, 0.5)
    np.testing.assert_array_equal(c, np.concatenate([[0.5] * 3, expected_pos, np.isin(f_neg, hard_neg)]))


@pytest.mark.parametrize("region", [ONE_WAY, TWO_WAY])
def test_surrogate_value_tends_to_the_pairwise_risk(region: Region) -> None:
    f_pos, f_neg = draw(1)
    scores, target = batch(f_pos, f_neg)
    objective = sharp_pauci(region, kappa=1e12)
    assert 1 + saddle_value(objective, scores, target) == pytest.approx(
        pairwise_risk(*hardest(f_pos, f_neg, region)), abs=1e-10
    )


def sharp_pauci(region: Region, kappa: float) -> PAUCILoss:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "kappa=")
        return PAUCILoss(region.max_fpr, region.min_tpr, kappa=kappa, omega=0.0).double()


def sigmoid(x: Array) -> Array:
    return np.exp(-np.logaddexp(0, -x))


def soft_threshold(losses: Array, fraction: float, kappa: float) -> float:
    """The s whose weights sigmoid(κ(loss − s)) have mean ``fraction``, by bisection."""
    low, high = losses.min() - 50 / kappa, losses.max() + 50 / kappa
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sigmoid(kappa * (losses - middle)).mean() > fraction else (low, middle)
    return float(low + high) / 2


def solve_surrogate(f_pos: Array, f_neg: Array, region: Region, kappa: float) -> dict[str, float]:
    """Stationary point of the surrogate: a, b are weighted means, γ = b − a, thresholds give the mean weight."""
    a, b, s_pos = f_pos.mean(), f_neg.mean(), 0.0
    for _ in range(100):
        gamma = b - a
        N = (f_neg - b) ** 2 + 2 * (1 + gamma) * f_neg
        s_neg = soft_threshold(N, region.max_fpr, kappa)
        w_neg, w_pos = sigmoid(kappa * (N - s_neg)), np.ones(N_POS)
        if region.is_two_way:
            P = (f_pos - a) ** 2 - 2 * (1 + gamma) * f_pos
            s_pos = soft_threshold(P, 1 - region.min_tpr, kappa)
            w_pos = sigmoid(kappa * (P - s_pos))
        a, b = float(w_pos @ f_pos / w_pos.sum()), float(w_neg @ f_neg / w_neg.sum())
    solution = {"a": a, "b": b, "gamma": b - a, "s_neg": s_neg}
    return {**solution, "s_pos": s_pos} if region.is_two_way else solution


@pytest.mark.parametrize("region", [ONE_WAY, TWO_WAY])
def test_gap_of_the_surrogate_falls_as_one_over_kappa(region: Region) -> None:
    f_pos, f_neg = draw(3)
    scores, target = batch(f_pos, f_neg)
    risk = pairwise_risk(*hardest(f_pos, f_neg, region))
    kappas, gaps = np.array([4.0, 8.0, 16.0, 32.0]), []
    for kappa in kappas:
        objective = sharp_pauci(region, kappa)
        set_variables(objective, **solve_surrogate(f_pos, f_neg, region, kappa))
        surrogate = objective(scores, target)
        surrogate.backward()
        for name, variable in objective.named_parameters():
            assert variable.grad is not None
            assert variable.grad.item() == pytest.approx(0, abs=1e-9), name
        gaps.append(1 + surrogate.item() - risk)
    assert min(gaps) > 0  # softplus lies above the hinge
    assert max(gaps * kappas) < 2 * np.log(2) / 0.3  # log(2)/κ for each of at most two hinges, over β or α
    slope = np.polyfit(np.log(kappas), np.log(gaps), 1)[0]
    assert slope < -0.9


def fraction_above_threshold(f_neg: Array, b: float, gamma: float, beta: float, kappa: float) -> float:
    """β̃: how many negatives lie above the threshold that the objective's own derivative finds optimal."""
    scores, target = batch(np.full(1, 0.8), f_neg)
    objective = sharp_pauci(Region(max_fpr=beta), kappa)
    set_variables(objective, b=b, gamma=gamma)
    low, high = -5.0, 5.0
    for _ in range(60):  # convex in s'
        set_variables(objective, s_neg=(low + high) / 2)
        objective.zero_grad()
        objective(scores, target).backward()
        assert objective.s_neg.grad is not None
        low, high = ((low + high) / 2, high) if objective.s_neg.grad < 0 else (low, (low + high) / 2)
    N = (f_neg - b) ** 2 + 2 * (1 + gamma) * f_neg
    return float((low < N).mean())


@pytest.mark.parametrize(("beta", "sign"), [(0.1, -1), (0.3, -1), (0.7, 1)])
def test_surrogate_selects_another_quantile(beta: float, sign: int) -> None:
    """For bell-shaped losses β̃ < β if β < ½ and β̃ > β if β > ½, and β̃ tends to β monotonically as κ grows.

    The threshold is where the mean of sigmoid(κ(N − s')) is β: the logistic noise of variance π²/3κ² smooths the
    losses' distribution, so for large κ β̃ − β ≈ (π²/6κ²)·(slope of their density at s'), which is negative in an
    upper tail: softplus counts fewer hard negatives than asked for.
    """
    spread, b, gamma = 0.17, 0.4, -0.4
    normal = NormalDist(0.86, spread)
    N = np.array([normal.inv_cdf((i + 0.5) / 4000) for i in range(4000)])
    f_neg = -0.2 + np.sqrt(N - 0.12)  # solves (f − 0.4)² + 1.2 f = N
    deviations = [
        sign * (fraction_above_threshold(f_neg, b, gamma, beta, kappa) - beta)
        for kappa in (2.0, 6.0, 20.0, 40.0, 1e5)
    ]
    assert deviations[0] > 0.05
    assert deviations == sorted(deviations, reverse=True)
    assert deviations[-1] == pytest.approx(0, abs=1e-12)
    quantile = normal.inv_cdf(1 - beta)
    density_slope = -normal.pdf(quantile) * (quantile - normal.mean) / spread**2
    assert sign * deviations[-2] == pytest.approx(np.pi**2 / (6 * 40**2) * density_slope, rel=0.2)
