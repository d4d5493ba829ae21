"""PAUCI and what it shares with UPAUCI: values, gradients, weights of the classes, variables and their boxes."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Literal

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from pauc_lightning.errors import InputError
from pauc_lightning.objectives import MinimaxObjective, PAUCILoss, UPAUCILoss
from pauc_lightning.objectives.checks import values_are_checked
from pauc_lightning.objectives.minimax import BOXES

Constraint = Literal["lagrangian", "projection"]
CONSTRAINTS: tuple[Constraint, ...] = ("lagrangian", "projection")
N = 24


def pauci(
    min_tpr: float = 0.0, constraint: Constraint = "projection", prior: float | None = 0.4
) -> PAUCILoss:
    return PAUCILoss(0.3, min_tpr, prior=prior, kappa=3.0, omega=0.7, constraint=constraint)


def closed_form(
    min_tpr: float = 0.0, constraint: Constraint = "projection", prior: float | None = 0.4
) -> UPAUCILoss:
    return UPAUCILoss(0.3, min_tpr, prior=prior, omega=0.7, constraint=constraint)


def stored(
    min_tpr: float = 0.0, constraint: Constraint = "projection", prior: float | None = 0.4
) -> UPAUCILoss:
    return UPAUCILoss(
        0.3, min_tpr, prior=prior, omega=0.7, constraint=constraint, weights="ascent", train_size=N
    )


Factory = Callable[[float, Constraint, float | None], MinimaxObjective]
every_objective = pytest.mark.parametrize(
    ("make", "min_tpr", "constraint"),
    [(make, t, c) for make in (pauci, closed_form, stored) for t in (0.0, 0.6) for c in CONSTRAINTS],
)


def randomize(objective: MinimaxObjective, seed: int = 0) -> MinimaxObjective:
    """Variables anywhere in their boxes, so that no term of the objective hides behind a zero."""
    generator = torch.Generator().manual_seed(seed)
    objective = objective.double()
    with torch.no_grad():
        for name, variable in objective.named_parameters():
            low, high = BOXES[name]
            variable.copy_(low + (min(high, 2.0) - low) * torch.rand((), generator=generator))
        for weights in objective.buffers():
            weights.copy_(torch.rand(weights.shape, generator=generator))
    return objective


def batch(seed: int = 0, n: int = N) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.rand(n, generator=generator, dtype=torch.float64)
    target = (torch.rand(n, generator=generator) < 0.4).long()
    return scores.requires_grad_(), target, torch.randperm(N, generator=generator)[:n]


def paper(
    objective: MinimaxObjective, f: Tensor, y: Tensor, index: Tensor, size: float | None = None
) -> Tensor:
    """The instance-wise objective as the paper prints it, left to autograd: the specification."""
    v = dict(objective.named_parameters())
    a, b, gamma, s_neg = v["a"], v["b"], v["gamma"], v["s_neg"]
    alpha, beta, omega = objective.region.alpha, objective.region.beta, objective.omega
    p = y.double().mean() if objective.prior is None else objective.prior

    def r(x: Tensor) -> Tensor:
        if isinstance(objective, PAUCILoss):
            return torch.log1p(torch.exp(objective.kappa * x)) / objective.kappa
        assert isinstance(objective, UPAUCILoss)
        # the inner maximum over c is a constant for the gradient, like the stored weights
        c = (x / (2 * omega)).clamp(0, 1).detach() if objective.c is None else objective.c[index]
        return c * x - omega * c**2

    P = (f - a) ** 2 - 2 * (1 + gamma) * f
    N = (f - b) ** 2 + 2 * (1 + gamma) * f
    positive = P * y / p
    if "s_pos" in v:
        positive = (alpha * v["s_pos"] + r(P - v["s_pos"])) * y / (alpha * p)
    negative = (beta * s_neg + r(N - s_neg)) * (1 - y) / (beta * (1 - p))
    value = (positive + negative).sum() / (len(f) if size is None else size) - (omega + 1) * gamma**2
    if "theta_b" in v:
        value = value - v["theta_b"] * (b - 1 - gamma)
    if "theta_a" in v:
        value = value - v["theta_a"] * (-a - gamma)
    return value


def gradients(value: Tensor, scores: Tensor, objective: MinimaxObjective) -> list[Tensor]:
    return list(torch.autograd.grad(value, [scores, *objective.parameters()]))


@every_objective
@pytest.mark.parametrize("prior", [0.4, None])
@pytest.mark.parametrize("size", [None, 17.0])
def test_value_and_gradient_are_the_papers(
    make: Factory, min_tpr: float, constraint: Constraint, prior: float | None, size: float | None
) -> None:
    for seed in range(3):
        objective = randomize(make(min_tpr, constraint, prior), seed)
        scores, target, index = batch(seed)
        value = objective(scores, target, index, normalizer=size)
        expected = paper(objective, scores, target, index, size)
        torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(
            gradients(2 * value, scores, objective),
            gradients(2 * expected, scores, objective),
            rtol=1e-10,
            atol=1e-12,
        )


@every_objective
def test_gradcheck(make: Factory, min_tpr: float, constraint: Constraint) -> None:
    objective = randomize(make(min_tpr, constraint, 0.4))
    scores, target, index = batch()
    variables = dict(objective.named_parameters())

    def value(f: Tensor, *values: Tensor) -> Tensor:
        named = dict(zip(variables, values, strict=True))
        result: Tensor = functional_call(objective, named, (f, target, index))
        return result

    inputs = (scores, *(v.detach().requires_grad_() for v in variables.values()))
    assert torch.autograd.gradcheck(value, inputs, eps=1e-7, atol=1e-6)


def test_hand_computed_value() -> None:
    """One positive at 0.8, negatives at 0.6 and 0.1, a=0.7, b=0.5, γ=−0.2, s'=1, κ=2, ω=0, β=½, own prior."""
    objective = PAUCILoss(max_fpr=0.5, kappa=2.0, omega=0.0, a=0.7, b=0.5, gamma=-0.2, s_neg=1.0)
    value = objective(torch.tensor([0.8, 0.6, 0.1]), torch.tensor([1, 0, 0]))
    # P = 0.01 − 1.28 = −1.27; N = 0.97 and 0.32; softplus₂(−0.03) = 0.33180, softplus₂(−0.68) = 0.11423;
    # s' + (mean of the two)/β = 1 + 0.44603; γ² = 0.04
    assert value.item() == pytest.approx(-1.27 + 1.44603 - 0.04, abs=1e-5)


@every_objective
@pytest.mark.parametrize("prior", [0.4, None])
@pytest.mark.parametrize("label", [0, 1])
def test_batch_of_one_class(
    make: Factory, min_tpr: float, constraint: Constraint, prior: float | None, label: int
) -> None:
    """The missing class contributes nothing, its variables do not move, and nothing is NaN."""
    objective = randomize(make(min_tpr, constraint, prior))
    scores, _, index = batch()
    value = objective(scores, torch.full((N,), label), index)
    value.backward()
    assert value.isfinite()
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    missing, theta = (
        (objective.s_neg, 0.0) if label == 1 else (objective.a, objective.variables().get("theta_a", 0.0))
    )
    assert missing.grad is not None
    assert float(missing.grad) == float(theta)


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("label", [0, 1])
def test_value_of_one_class_is_its_own_mean(n: int, label: int) -> None:
    """With the batch's own prior: the mean of P, or s' plus the mean of r over β, minus (1+ω)γ²."""
    objective = randomize(pauci(prior=None))
    scores, _, _ = batch(n=n)
    v = {name: value.item() for name, value in objective.variables().items()}
    if label == 1:
        part = ((scores - v["a"]) ** 2 - 2 * (1 + v["gamma"]) * scores).mean()
    else:
        excess = (scores - v["b"]) ** 2 + 2 * (1 + v["gamma"]) * scores - v["s_neg"]
        part = v["s_neg"] + torch.log1p(torch.exp(3 * excess)).mean() / 3 / 0.3
    value = objective(scores, torch.full((n,), label))
    assert value.item() == pytest.approx(part.item() - 1.7 * v["gamma"] ** 2, abs=1e-12)


@every_objective
@pytest.mark.parametrize(("module", "data"), [(torch.float32, torch.float64), (torch.float64, torch.float32)])
def test_other_precision_than_the_scores(
    make: Factory, min_tpr: float, constraint: Constraint, module: torch.dtype, data: torch.dtype
) -> None:
    objective = randomize(make(min_tpr, constraint, 0.4))
    scores, target, index = batch()
    expected = objective(scores, target, index).item()
    mixed = scores.detach().to(data).requires_grad_()
    value = objective.to(module)(mixed, target, index)
    value.backward()
    assert value.item() == pytest.approx(expected, rel=1e-5)
    assert value.dtype == data
    assert all(p.grad is not None and p.grad.dtype == module for p in objective.parameters())


def test_empty_batch() -> None:
    value = pauci()(torch.empty(0), torch.empty(0))
    value.backward()
    assert value.item() == 0


@every_objective
def test_average_over_uneven_shards_is_the_union(
    make: Factory, min_tpr: float, constraint: Constraint
) -> None:
    objective = randomize(make(min_tpr, constraint, 0.4))
    scores, target, index = batch()
    union = gradients(objective(scores, target, index), scores, objective)
    shards = (slice(0, 4), slice(4, 5), slice(5, N))
    per_rank = [
        gradients(
            objective(scores[s], target[s], index[s], normalizer=torch.tensor(N / 3).double()),
            scores,
            objective,
        )
        for s in shards
    ]
    average = [torch.stack(parts).mean(dim=0) for parts in zip(*per_rank, strict=True)]
    torch.testing.assert_close(average, union, rtol=1e-12, atol=1e-14)


@every_objective
def test_step_never_waits_for_the_device(make: Factory, min_tpr: float, constraint: Constraint) -> None:
    """Meta tensors have no values: reading one, as a synchronisation would, raises. Only the checks do."""
    for prior in (0.4, None):
        objective = make(min_tpr, constraint, prior).to("meta")
        scores = torch.rand(N, device="meta").requires_grad_()
        target, index = torch.zeros(N, device="meta"), torch.zeros(N, device="meta", dtype=torch.long)
        with pytest.raises((RuntimeError, NotImplementedError), match="meta"):
            objective(scores, target, index)
        with values_are_checked():
            objective(scores, target, index, normalizer=torch.tensor(3.0, device="meta")).backward()
            if isinstance(objective, UPAUCILoss) and objective.c is not None:
                objective.ascend_(scores.detach(), target, index)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(dtype: torch.dtype) -> None:
    objective = pauci(0.6)
    scores, target, _ = batch()
    half = scores.detach().to(dtype).requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = objective(half, target)
    value.backward()
    expected = objective(half.detach().float(), target)
    assert value.dtype == torch.float32
    assert half.grad is not None
    assert half.grad.dtype == dtype
    assert value.item() == expected.item()


@every_objective
def test_variables_are_state(make: Factory, min_tpr: float, constraint: Constraint) -> None:
    objective, fresh = randomize(make(min_tpr, constraint, 0.4)), make(min_tpr, constraint, 0.4).double()
    fresh.load_state_dict(objective.state_dict())
    scores, target, index = batch()
    assert torch.equal(fresh(scores, target, index), objective(scores, target, index))
    expected = {"a", "b", "gamma", "s_neg"}
    expected |= {"s_pos"} if min_tpr else set()
    expected |= {"theta_b"} if constraint == "lagrangian" else set()
    expected |= {"theta_a"} if constraint == "lagrangian" and min_tpr else set()
    assert set(objective.variables()) == expected
    assert set(objective.state_dict()) == expected | ({"c"} if make is stored else set())
    assert {value.dtype for value in objective.float().state_dict().values()} == {torch.float32}
    assert copy.deepcopy(objective).variables() == objective.variables()


@pytest.mark.parametrize("min_tpr", [0.0, 0.6])
def test_default_thresholds_select_every_instance(min_tpr: float) -> None:
    for a, b, gamma in ((1.0, 0.0, 0.0), (0.3, 0.6, -0.3), (0.5, 0.5, 1.0)):
        objective = PAUCILoss(0.3, min_tpr, a=a, b=b, gamma=gamma)
        f = torch.linspace(0, 1, 101)
        assert ((f - b) ** 2 + 2 * (1 + gamma) * f >= objective.s_neg - 1e-6).all()
        if objective.s_pos is not None:
            assert ((f - a) ** 2 - 2 * (1 + gamma) * f >= objective.s_pos - 1e-6).all()


def test_initialisation_is_in_the_boxes_and_repeatable() -> None:
    target = torch.tensor([1, 1, 0, 0, 0])
    for scores in (torch.tensor([0.0, 0.0, 1.0, 1.0, 1.0]), torch.tensor([1.0, 1.0, 0.0, 0.0, 0.0])):
        for constraint in CONSTRAINTS:
            objective = randomize(pauci(0.6, constraint)).float()
            objective.initialize_(scores, target)
            once = objective.variables()
            once = {name: value.clone() for name, value in once.items()}
            for name, value in once.items():
                assert BOXES[name][0] <= value.item() <= BOXES[name][1], name
            assert once["gamma"] >= max(-once["a"], once["b"] - 1)
            assert once.get("theta_b", 0) == 0
            objective.initialize_(scores, target)
            assert objective.variables() == once


def test_initialisation_takes_the_penalty_into_account() -> None:
    scores, target, _ = batch()
    objective = PAUCILoss(1.0, omega=0.5, kappa=3.0).double()
    objective.initialize_(scores.detach(), target)
    # mean of the negatives minus mean of the positives, over 1 + ω
    gap = scores[target == 0].mean() - scores[target == 1].mean()
    assert objective.gamma.item() == pytest.approx(gap.item() / 1.5, abs=1e-12)


def test_too_sharp_for_concavity_warns_once() -> None:
    with pytest.warns(UserWarning, match=r"kappa=4 exceeds 2 \+ 2\*omega = 3.*omega to 1"):
        PAUCILoss(0.3, kappa=4.0, omega=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PAUCILoss(0.3, kappa=3.0, omega=0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PAUCILoss(1.5), "`max_fpr`"),
        (lambda: PAUCILoss(0.3, prior=1.0), "`prior`"),
        (lambda: PAUCILoss(0.3, omega=-1.0), "`omega`"),
        (lambda: PAUCILoss(0.3, kappa=0.0), "`kappa`"),
        (lambda: PAUCILoss(0.3, kappa=float("nan")), "`kappa`"),
        (lambda: PAUCILoss(0.3, a=1.5), r"`a` must be a finite number in \[0, 1\], got 1.5"),
        (lambda: PAUCILoss(0.3, s_neg=6.0), "`s_neg`"),
        (lambda: PAUCILoss(0.3, s_pos=-1.0), "`s_pos` belongs to the two-way"),
        (lambda: PAUCILoss(0.3, 0.6, s_pos=2.0), r"`s_pos` must be a finite number in \[-4, 1\]"),
        (lambda: PAUCILoss(0.3, 0.6, a=0.2, gamma=-0.5), "`gamma` must start at or above -0.2"),
        (lambda: PAUCILoss(0.3, constraint="none"), "`constraint`"),  # type: ignore[arg-type]
    ],
)
def test_bad_arguments(make: Callable[[], nn.Module], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_bad_inputs() -> None:
    objective, scores, target = pauci(), torch.rand(4), torch.tensor([0, 1, 0, 1])
    with pytest.raises(InputError, match=r"\(4, 1\)"):
        objective(scores[:, None], target)
    with pytest.raises(InputError, match="equally long"):
        objective(scores, target[:3])
    with pytest.raises(InputError, match="floating-point"):
        objective(target, target)
    with pytest.raises(InputError, match="`scores` must be a tensor, got list"):
        objective([0.1], target)
    with pytest.raises(InputError, match="`index` must hold one integer"):
        objective(scores, target, torch.rand(4))
    with pytest.raises(InputError, match="0 positives and 4 negatives"):
        objective.initialize_(scores, torch.zeros(4))
    with pytest.raises(InputError, match=r"`scores` must be in \[0, 1\]"):
        objective.initialize_(scores + 1, target)
    with pytest.raises(InputError, match="4 NaN or infinite values among 4"):
        objective.initialize_(scores * torch.nan, target)
    with pytest.raises(InputError, match="`normalizer` must be a finite number above 0, got 0"):
        objective(scores, target, normalizer=0)
