"""ASGDA against Algorithm 1 written again in numpy, on problems whose saddle point is known, and as an optimizer."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pauc_lightning.errors import InputError
from pauc_lightning.objectives import MinimaxObjective, PAUCILoss, UPAUCILoss
from pauc_lightning.objectives.checks import values_are_checked
from pauc_lightning.objectives.minimax import BOXES, Constraint
from pauc_lightning.optim import ASGDA

Array = NDArray[np.float64]
Point = dict[str, Array]


def asgda(params: Any, **options: Any) -> ASGDA:
    """The optimizer with estimators that remember (ρ < 1) and small steps, unless a test says otherwise."""
    defaults = {"lr": 0.05, "k": 1.0, "m": 500.0, "iota_descent": 3.0, "iota_ascent": 3.0}
    return ASGDA(params, **{**defaults, **options})


# ---------------------------------------------------------------------- Algorithm 1, derived independently


def pauci_gradient(
    point: Point, x: Array, y: Array, alpha: float, beta: float, p: float, kappa: float, omega: float
) -> Point:
    """Gradient of the two-way Lagrangian G^{κ,ω} with a linear-sigmoid scorer, worked out by hand."""
    w, bias, a, b, gamma, s, s2, theta_a, theta_b = (
        point[name] for name in ("weight", "bias", "a", "b", "gamma", "s_pos", "s_neg", "theta_a", "theta_b")
    )
    f = 1 / (1 + np.exp(-(x @ w[0] + bias[0])))
    P, N = (f - a) ** 2 - 2 * (1 + gamma) * f, (f - b) ** 2 + 2 * (1 + gamma) * f
    sel_pos, sel_neg = 1 / (1 + np.exp(-kappa * (P - s))), 1 / (1 + np.exp(-kappa * (N - s2)))
    q_pos, q_neg = y / (alpha * p * len(y)), (1 - y) / (beta * (1 - p) * len(y))
    by_f = q_pos * sel_pos * (2 * (f - a) - 2 * (1 + gamma)) + q_neg * sel_neg * (
        2 * (f - b) + 2 * (1 + gamma)
    )
    by_logit = by_f * f * (1 - f)
    return {
        "weight": (by_logit @ x)[None],
        "bias": by_logit.sum(keepdims=True),
        "a": np.sum(q_pos * sel_pos * -2 * (f - a)) + theta_a,
        "b": np.sum(q_neg * sel_neg * -2 * (f - b)) - theta_b,
        "gamma": np.sum(2 * f * (q_neg * sel_neg - q_pos * sel_pos))
        - 2 * (1 + omega) * gamma
        + theta_a
        + theta_b,
        "s_pos": np.sum(q_pos * (alpha - sel_pos)),
        "s_neg": np.sum(q_neg * (beta - sel_neg)),
        "theta_a": a + gamma,
        "theta_b": 1 + gamma - b,
    }


def test_three_steps_equal_the_rederivation() -> None:
    """Two-way PAUCI with multipliers, a linear scorer, weight decay, active boxes, three different batches."""
    rng = np.random.default_rng(0)
    nu, lam, k, m, iota_1, iota_2, decay = 4.0, 3.0, 1.2, 5.0, 0.8, 0.5, 0.1
    network = nn.Linear(3, 1).double()
    loss_fn = PAUCILoss(
        0.3, 0.6, prior=0.35, kappa=3.0, omega=0.5, constraint="lagrangian", a=0.9, b=0.2
    ).double()
    opt = asgda(
        [{"params": network.parameters()}, *loss_fn.param_groups()],
        lr=nu, lr_ascent=lam, k=k, m=m, iota_descent=iota_1, iota_ascent=iota_2, weight_decay=decay,
    )  # fmt: skip
    variables = {**dict(network.named_parameters()), **dict(loss_fn.named_parameters())}
    point = {name: value.detach().numpy().copy() for name, value in variables.items()}
    estimator = {name: np.zeros_like(value) for name, value in point.items()}
    boxes_were_active = False

    for t in range(3):
        x, y = rng.normal(size=(20, 3)), (rng.uniform(size=20) < 0.35).astype(float)

        def closure(x: Array = x, y: Array = y) -> Tensor:
            opt.zero_grad()
            scores = network(torch.from_numpy(x))[:, 0].sigmoid()
            loss: Tensor = loss_fn(scores, torch.from_numpy(y))
            torch.autograd.backward(loss)
            return loss

        opt.step(closure)

        eta = k / (m + t) ** (1 / 3)
        old = pauci_gradient(point, x, y, 0.4, 0.3, 0.35, 3.0, 0.5)
        new_point = {}
        for name, value in point.items():
            if name == "gamma":
                goal = value + lam * estimator[name]
            else:
                goal = value - nu * (estimator[name] + (decay * value if name in ("weight", "bias") else 0))
            projected = np.clip(goal, *BOXES.get(name, (-np.inf, np.inf)))
            boxes_were_active |= bool(np.any(projected != goal))
            new_point[name] = (1 - eta) * value + eta * projected
        point = new_point
        new = pauci_gradient(point, x, y, 0.4, 0.3, 0.35, 3.0, 0.5)
        for name in point:
            forget = 1 - (iota_2 if name == "gamma" else iota_1) * eta**2
            estimator[name] = new[name] + forget * (estimator[name] - old[name])

        for name, variable in variables.items():
            np.testing.assert_allclose(
                variable.detach().numpy(), point[name], rtol=0, atol=1e-12, err_msg=name
            )
            v = opt.state[variable]["v"].numpy()
            np.testing.assert_allclose(v, estimator[name], rtol=0, atol=1e-12, err_msg=name)
    assert boxes_were_active
    assert all(np.any(estimator[name] != 0) for name in point)


@pytest.mark.parametrize(("k", "iota"), [(50.0, 0.3), (1.0, 1e4)])
def test_coefficients_are_capped_at_one(k: float, iota: float) -> None:
    """η = 1 puts x at the projection, and ρ = 1 forgets all but the newest gradient."""
    x = nn.Parameter(torch.tensor(3.0, dtype=torch.float64))
    opt = asgda([x], lr=0.1, k=k, m=1.0, iota_descent=iota, warm_start=True)

    def closure() -> Tensor:
        opt.zero_grad()
        loss = x**2
        torch.autograd.backward(loss)
        return loss

    opt.step(closure)
    eta, rho = min(1.0, k), min(1.0, iota * min(1.0, k) ** 2)
    assert x.item() == pytest.approx(3 - eta * 0.1 * 6, abs=1e-12)
    assert opt.state[x]["v"].item() == pytest.approx(2 * x.item() + (1 - rho) * (6 - 6), abs=1e-12)


# ---------------------------------------------------------------------- feasibility


@pytest.mark.parametrize("min_tpr", [0.0, 0.6])
@pytest.mark.parametrize("constraint", ["lagrangian", "projection"])
@pytest.mark.parametrize("make", [PAUCILoss, UPAUCILoss])
def test_every_variable_is_feasible_after_every_step(
    min_tpr: float, constraint: Constraint, make: type[PAUCILoss] | type[UPAUCILoss]
) -> None:
    """Steps far too long, labels at random: the variables are thrown about and never leave their boxes."""
    generator = torch.Generator().manual_seed(0)
    loss_fn = make(0.2, min_tpr, prior=0.5, constraint=constraint)
    network = nn.Linear(4, 1)
    opt = asgda([{"params": network.parameters()}, *loss_fn.param_groups()], lr=30.0, k=3.0, m=50.0)
    extremes = {name: [value.item()] * 2 for name, value in loss_fn.variables().items()}
    for _ in range(150):
        x = torch.randn(16, 4, generator=generator)
        y = (torch.rand(16, generator=generator) < 0.5).float()

        def closure(x: Tensor = x, y: Tensor = y) -> Tensor:
            opt.zero_grad()
            loss: Tensor = loss_fn(network(x)[:, 0].sigmoid(), y)
            torch.autograd.backward(loss)
            return loss

        opt.step(closure)
        variables = {name: value.item() for name, value in loss_fn.variables().items()}
        for name, value in variables.items():
            assert BOXES[name][0] <= value <= BOXES[name][1], name
            extremes[name] = [min(extremes[name][0], value), max(extremes[name][1], value)]
        if constraint == "projection":
            lowest = max(-variables["a"], variables["b"] - 1) if min_tpr else variables["b"] - 1
            assert variables["gamma"] >= lowest - 1e-7  # 1e-7: this bound is computed in float64
    assert extremes["s_neg"][1] - extremes["s_neg"][0] > 1
    assert extremes["gamma"][1] - extremes["gamma"][0] > 0.5


@pytest.mark.parametrize(
    ("min_tpr", "name", "gradient", "lowest"), [(0.0, "b", -0.6, -0.4), (0.6, "a", 0.7, -0.3)]
)
def test_bound_that_moves_is_kept(min_tpr: float, name: str, gradient: float, lowest: float) -> None:
    """γ ≥ b − 1 and γ ≥ −a at the *new* b and a: as b rises or a falls, γ is pushed although its gradient is zero."""
    loss_fn = PAUCILoss(0.3, min_tpr, kappa=4.0, omega=1.0, gamma=-1.0).double()
    opt = asgda(loss_fn.param_groups(), lr=1.0, k=1.0, m=1.0, warm_start=True)
    start = {"a": 1.0, "b": 0.0}
    for parameter_name, parameter in loss_fn.named_parameters():
        parameter.grad = torch.full_like(parameter, gradient if parameter_name == name else 0.0)
    opt.move()
    assert loss_fn.variables()[name].item() == pytest.approx(start[name] - gradient, abs=1e-12)
    assert loss_fn.gamma.item() == pytest.approx(lowest, abs=1e-12)


# ---------------------------------------------------------------------- known saddle points


class Quadratic:
    """½x'Ax + x'By − ½y'Cy − c'x + d'y with a saddle point chosen in advance, on some bounds of its boxes.

    The linear terms follow from the optimality conditions: at the saddle the gradient vanishes in free
    coordinates, points into the box in those of x on a bound, and out of it in those of y.
    """

    def __init__(self, seed: int, constrained: bool, dim: int = 4, mu: float = 1.0) -> None:
        generator = torch.Generator().manual_seed(seed)

        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)

        root_a, root_c, self.B = 0.4 * normal(dim, dim), 0.4 * normal(dim, dim), normal(dim, dim)
        eye = torch.eye(dim, dtype=torch.float64)
        self.A, self.C = mu * eye + root_a @ root_a.T, mu * eye + root_c @ root_c.T
        self.x_star, self.y_star = normal(dim).clamp(-0.8, 0.8), normal(dim).clamp(-0.8, 0.8)
        slack_x, slack_y = torch.zeros(dim).double(), torch.zeros(dim).double()
        self.box = None
        if constrained:
            self.box = (-1.0, 1.0)
            self.x_star[:2], self.y_star[:2] = torch.tensor([1.0, -1.0]), torch.tensor([1.0, -1.0])
            slack_x[:2], slack_y[:2] = torch.tensor([-0.7, 0.9]), torch.tensor([0.8, -0.6])
        self.c = self.A @ self.x_star + self.B @ self.y_star - slack_x
        self.d = slack_y - self.B.T @ self.x_star + self.C @ self.y_star

    def gradient(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """By x and by y, for every row of x and y, [runs, dim]: as many independent runs."""
        return x @ self.A + y @ self.B.T - self.c, x @ self.B - y @ self.C + self.d

    def gradient_mapping(self, x: Tensor) -> Tensor:
        """Norm of the gradient of max_y at every row of x, without boxes: the maximiser is C⁻¹(B'x + d)."""
        y = torch.linalg.solve(self.C, (x @ self.B + self.d).T).T
        norms: Tensor = torch.linalg.vector_norm(self.gradient(x, y)[0], dim=1)
        return norms


def run_quadratic(
    problem: Quadratic, x: nn.Parameter, y: nn.Parameter, noise: float, steps: int, **options: float
) -> Array:
    """Run ASGDA with additive noise, the same in both evaluations; the mapping's mean norm after each step."""
    groups = [{"params": [x], "box": problem.box}, {"params": [y], "box": problem.box, "ascent": True}]
    opt = asgda(groups, **options)
    generator = torch.Generator().manual_seed(1)
    norms = []
    for _ in range(steps):
        drawn = noise * torch.randn(2, *x.shape, generator=generator, dtype=x.dtype)

        def closure(drawn: Tensor = drawn) -> None:
            by_x, by_y = problem.gradient(x.detach(), y.detach())
            x.grad, y.grad = by_x + drawn[0], by_y + drawn[1]

        opt.step(closure)
        norms.append(problem.gradient_mapping(x.detach()).mean().item())
    return np.array(norms)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("constrained", [False, True])
def test_finds_the_saddle_point_from_many_starts(seed: int, constrained: bool) -> None:
    problem = Quadratic(seed, constrained)
    generator = torch.Generator().manual_seed(seed)
    starts = 2 * torch.rand(2, 64, 4, generator=generator, dtype=torch.float64) - 1
    x, y = nn.Parameter(starts[0].clone()), nn.Parameter(starts[1].clone())
    options = {"lr": 0.15, "lr_ascent": 0.3, "k": 1.0, "m": 2.0, "iota_descent": 1.0, "iota_ascent": 1.0}
    run_quadratic(problem, x, y, noise=0.0, steps=1500, **options)
    torch.testing.assert_close(x.detach(), problem.x_star.expand_as(x), rtol=0, atol=1e-5)
    torch.testing.assert_close(y.detach(), problem.y_star.expand_as(y), rtol=0, atol=1e-5)


def rate(iota: float) -> float:
    """Log-log slope over T of the mean over t ≤ T of the gradient mapping's norm, with noisy gradients."""
    problem = Quadratic(0, constrained=False)
    x, y = nn.Parameter(torch.ones(64, 4).double()), nn.Parameter(-torch.ones(64, 4).double())
    options = {"lr": 0.3, "lr_ascent": 0.3, "k": 1.0, "m": 8.0, "iota_descent": iota, "iota_ascent": iota}
    norms = run_quadratic(problem, x, y, noise=1.0, steps=4000, **options)
    horizons = np.array([250, 500, 1000, 2000, 4000])
    averages = np.cumsum(norms)[horizons - 1] / horizons
    return float(np.polyfit(np.log(horizons), np.log(averages), 1)[0])


def test_average_gradient_mapping_falls_with_the_papers_rate() -> None:
    """O(T^{−1/3}); without the variance reduction (ρ = 1) the same step sizes only give T^{−1/6}."""
    assert rate(iota=2.0) < -1 / 3
    assert rate(iota=1e9) > -0.25


def solve_for_fixed_scores(loss_fn: MinimaxObjective, lr_ascent: float) -> tuple[float, Array]:
    """The largest gradient of a variable at the end, and the course of γ; full batches of scores that stand still."""
    generator = torch.Generator().manual_seed(0)
    target = (torch.arange(500) < 100).double()
    scores = (0.35 + 0.2 * target + 0.35 * torch.rand(500, generator=generator, dtype=torch.float64)).clamp(
        0, 1
    )
    loss_fn = loss_fn.double()
    opt = asgda(loss_fn.param_groups(), lr=0.4, lr_ascent=lr_ascent, m=8.0, iota_descent=1.0, iota_ascent=1.0)

    def closure() -> None:
        opt.zero_grad()
        torch.autograd.backward(loss_fn(scores, target))

    course = []
    for _ in range(1500):
        opt.step(closure)
        course.append(loss_fn.gamma.item())
    gradients = [p.grad.abs().item() for p in loss_fn.parameters() if p.grad is not None]
    assert len(gradients) == len(loss_fn.variables())
    return max(gradients), np.array(course)


@pytest.mark.parametrize("min_tpr", [0.0, 0.6])
@pytest.mark.parametrize("make", [PAUCILoss, UPAUCILoss])
def test_solves_the_objective_for_fixed_scores(
    min_tpr: float, make: type[PAUCILoss] | type[UPAUCILoss]
) -> None:
    """From the default start to a point where every derivative vanishes, γ included, thresholds being faster than γ."""
    gradient, _ = solve_for_fixed_scores(make(0.3, min_tpr, prior=0.2), lr_ascent=0.4 / 16)
    assert gradient < 1e-4


def test_gamma_as_fast_as_the_thresholds_goes_round_in_circles() -> None:
    """Why the default of `lr_ascent` is a sixteenth of `lr`."""
    _, course = solve_for_fixed_scores(UPAUCILoss(0.3, 0.6, prior=0.2, omega=0.1), lr_ascent=0.4)
    assert np.ptp(course[-300:]) > 0.3


# ---------------------------------------------------------------------- as an optimizer


def make_problem() -> tuple[nn.Linear, PAUCILoss, ASGDA]:
    torch.manual_seed(0)
    network, loss_fn = nn.Linear(4, 1), PAUCILoss(0.3, 0.6, prior=0.5, kappa=4.0, omega=1.0)
    return network, loss_fn, make_optimizer(network, loss_fn)


def make_optimizer(network: nn.Module, loss_fn: MinimaxObjective) -> ASGDA:
    groups = [{"params": network.parameters(), "weight_decay": 1e-3}, *loss_fn.param_groups(lr=0.3)]
    return asgda(groups, lr=0.5, lr_ascent=0.2, m=20.0)


def evaluation(network: nn.Module, loss_fn: nn.Module, opt: ASGDA, step: int) -> Callable[[], Tensor]:
    generator = torch.Generator().manual_seed(step)
    x, y = torch.randn(16, 4, generator=generator), (torch.rand(16, generator=generator) < 0.5).float()

    def closure() -> Tensor:
        opt.zero_grad()
        loss: Tensor = loss_fn(network(x)[:, 0].sigmoid(), y)
        torch.autograd.backward(loss)
        return loss

    return closure


def train(network: nn.Module, loss_fn: nn.Module, opt: ASGDA, first: int, last: int) -> None:
    for step in range(first, last):
        opt.step(evaluation(network, loss_fn, opt, step))


def everything(network: nn.Module, loss_fn: nn.Module) -> list[Tensor]:
    return [value.detach().clone() for module in (network, loss_fn) for value in module.parameters()]


def test_resume_is_bit_identical() -> None:
    """State saved to a file and loaded into new objects, other options than the saved ones notwithstanding."""
    network, loss_fn, opt = make_problem()
    train(network, loss_fn, opt, 0, 7)
    file = io.BytesIO()
    torch.save([network.state_dict(), loss_fn.state_dict(), opt.state_dict()], file)
    train(network, loss_fn, opt, 7, 15)

    file.seek(0)
    states = torch.load(file, weights_only=True)
    network2, loss_fn2 = nn.Linear(4, 1), PAUCILoss(0.3, 0.6, prior=0.5, kappa=4.0, omega=1.0)
    opt2 = asgda([{"params": network2.parameters()}, *loss_fn2.param_groups()], lr=9.0, k=7.0)
    network2.load_state_dict(states[0])
    loss_fn2.load_state_dict(states[1])
    opt2.load_state_dict(states[2])
    train(network2, loss_fn2, opt2, 7, 15)
    for value, expected in zip(everything(network2, loss_fn2), everything(network, loss_fn), strict=True):
        assert torch.equal(value, expected)


def test_boxes_stay_out_of_the_state() -> None:
    network, loss_fn, opt = make_problem()
    train(network, loss_fn, opt, 0, 2)
    state = opt.state_dict()
    assert all("box" not in group for group in state["param_groups"])
    assert {name for entry in state["state"].values() for name in entry} == {"v"}
    boxes = [group["box"] for group in opt.param_groups]
    opt.load_state_dict(state)
    assert [group["box"] for group in opt.param_groups] == boxes


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda objects: pickle.loads(pickle.dumps(objects))])
def test_copies_continue_alike(clone: Callable[[Any], Any]) -> None:
    network, loss_fn, opt = make_problem()
    train(network, loss_fn, opt, 0, 5)
    network2, loss_fn2, opt2 = clone((network, loss_fn, opt))
    train(network, loss_fn, opt, 5, 9)
    train(network2, loss_fn2, opt2, 5, 9)
    for value, expected in zip(everything(network2, loss_fn2), everything(network, loss_fn), strict=True):
        assert torch.equal(value, expected)
    opt2.add_param_group({"params": [nn.Parameter(torch.ones(1))], "ascent": True})
    assert opt2.param_groups[-1]["lr"] == 0.2


def test_halves_equal_a_step() -> None:
    network, loss_fn, opt = make_problem()
    network2, loss_fn2 = copy.deepcopy((network, loss_fn))
    opt2 = make_optimizer(network2, loss_fn2)
    train(network, loss_fn, opt, 0, 4)
    for step in range(4):
        closure = evaluation(network2, loss_fn2, opt2, step)
        closure()
        opt2.move()
        closure()
        opt2.step()
    for value, expected in zip(everything(network2, loss_fn2), everything(network, loss_fn), strict=True):
        assert torch.equal(value, expected)
    with pytest.raises(InputError, match="without a closure only completes"):
        opt2.step()


def test_gradient_scaler_drives_the_halves() -> None:
    """An overflow in the second half drops the refresh; the next move starts anew."""
    network, loss_fn, opt = make_problem()
    network2, loss_fn2 = copy.deepcopy((network, loss_fn))
    opt2 = make_optimizer(network2, loss_fn2)
    train(network, loss_fn, opt, 0, 3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)

    def scaled_evaluation(step: int) -> None:
        opt2.zero_grad()
        generator = torch.Generator().manual_seed(step)
        x, y = torch.randn(16, 4, generator=generator), (torch.rand(16, generator=generator) < 0.5).float()
        scaler.scale(loss_fn2(network2(x)[:, 0].sigmoid(), y)).backward()

    for step in range(3):
        scaled_evaluation(step)
        scaler.unscale_(opt2)
        scaler.update()
        opt2.move()
        scaled_evaluation(step)
        scaler.step(opt2)
        scaler.update()
    for value, expected in zip(everything(network2, loss_fn2), everything(network, loss_fn), strict=True):
        torch.testing.assert_close(value, expected, rtol=1e-6, atol=1e-7)

    before = {name: entry["v"].clone() for name, entry in opt2.state.items()}
    scaled_evaluation(3)
    scaler.unscale_(opt2)
    scaler.update()
    opt2.move()
    scaled_evaluation(3)
    next(network2.parameters()).grad.fill_(torch.inf)  # type: ignore[union-attr]
    scaler.step(opt2)
    scaler.update()
    assert all(torch.equal(opt2.state[name]["v"], v) for name, v in before.items())
    scaled_evaluation(4)
    scaler.unscale_(opt2)
    scaler.update()
    opt2.move()
    opt2.refresh()
    assert all(value.isfinite().all() for value in everything(network2, loss_fn2))


@pytest.mark.parametrize("ascent", [False, True])
def test_weight_decay_pulls_towards_zero(ascent: bool) -> None:
    x = nn.Parameter(torch.tensor([2.0, -3.0], dtype=torch.float64))
    opt = asgda([{"params": [x], "ascent": ascent}], lr=0.5, lr_ascent=0.5, m=8.0, weight_decay=0.2)
    opt.step(lambda: None)  # no gradient at all
    np.testing.assert_allclose(
        x.detach().numpy(), [2 * (1 - 0.5 * 0.1), -3 * (1 - 0.5 * 0.1)], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize(("ascent", "expected"), [(False, 1.0 - 0.5 * 0.1 * 4), (True, 1.0 + 0.5 * 0.1 * 4)])
def test_warm_start_moves_at_once(ascent: bool, expected: float) -> None:
    x = nn.Parameter(torch.tensor(1.0, dtype=torch.float64))
    opt = asgda([{"params": [x], "ascent": ascent}], lr=0.1, lr_ascent=0.1, m=8.0, warm_start=True)
    x.grad = torch.tensor(4.0, dtype=torch.float64)
    opt.move()
    assert x.item() == pytest.approx(expected, abs=1e-12)


def test_parameter_without_gradient_has_gradient_zero() -> None:
    x, unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))
    opt = asgda([x, unused], lr=0.1, warm_start=True)

    def closure() -> None:
        opt.zero_grad()
        torch.autograd.backward((x**2).sum())

    for _ in range(3):
        opt.step(closure)
    assert torch.equal(unused.detach(), torch.ones(3))
    assert (x < 1).all()


def test_schedulers_change_the_step_size() -> None:
    x = nn.Parameter(torch.tensor(1.0))
    opt = asgda([x], lr=0.1, m=8.0, warm_start=True)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
    x.grad = torch.tensor(0.0)
    opt.move()
    opt.step()
    scheduler.step()
    assert opt.param_groups[0]["lr"] == pytest.approx(0.05)


def quadratic_closure(opt: ASGDA) -> Callable[[], Tensor]:
    """Evaluates x² at the optimizer's only parameter."""
    (x,) = opt.param_groups[0]["params"]

    def closure() -> Tensor:
        opt.zero_grad()
        loss: Tensor = (x**2).sum()
        torch.autograd.backward(loss)
        return loss.detach()

    return closure


def test_closure_runs_with_gradients_at_both_points() -> None:
    x = nn.Parameter(torch.tensor(1.0))
    opt = asgda([x], lr=0.1, m=8.0, warm_start=True)
    seen: list[float] = []

    def closure() -> float:
        assert torch.is_grad_enabled()
        opt.zero_grad()
        torch.autograd.backward(x**2)
        seen.append(x.item())
        return float(len(seen))

    with torch.no_grad():
        assert opt.step(closure) == 1.0
    assert seen == [1.0, pytest.approx(0.9)]
    assert opt.evaluations_per_step == len(seen)


def test_step_never_waits_for_the_device() -> None:
    """Meta tensors have no values: reading one, as a synchronisation would, raises."""
    network, loss_fn, _ = make_problem()
    network, loss_fn = network.to("meta"), loss_fn.to("meta")
    opt = make_optimizer(network, loss_fn)

    def closure() -> None:
        opt.zero_grad()
        loss_fn(
            network(torch.rand(8, 4, device="meta"))[:, 0].sigmoid(), torch.ones(8, device="meta")
        ).backward()

    with values_are_checked():  # the objective would look at the scores
        for _ in range(2):
            opt.step(closure)


@pytest.mark.parametrize(("iota", "failing"), [(0.5, 1), (0.5, 2), (1e9, 1)], ids=["first", "second", "only"])
def test_an_evaluation_that_fails_leaves_everything_as_it_was(iota: float, failing: int) -> None:
    """Parameters, estimators and step counts are those before the step, to the bit."""
    network, loss_fn, opt = make_problem()
    for group in opt.param_groups:
        group["iota"] = iota
    for step in range(3):
        opt.step(evaluation(network, loss_fn, opt, step))
    assert opt.evaluations_per_step == (2 if iota < 1 else 1)
    evaluate, calls = evaluation(network, loss_fn, opt, 3), []

    def fails() -> Tensor:
        calls.append(network.weight.detach().clone())
        if len(calls) == failing:
            raise ZeroDivisionError
        return evaluate()

    before = copy.deepcopy((network.state_dict(), loss_fn.state_dict(), opt.state_dict()))
    with pytest.raises(ZeroDivisionError):
        opt.step(fails)
    assert torch.equal(calls[-1], before[0]["weight"]) == ((iota, failing) == (0.5, 1))  # else it had moved
    after = (network.state_dict(), loss_fn.state_dict(), opt.state_dict())
    torch.testing.assert_close(after, before, rtol=0, atol=0)
    with pytest.raises(InputError, match="only completes a step"):
        opt.step()


def test_group_of_several_types() -> None:
    """One group of float32 and float64 parameters: each moves as it would alone."""
    single, double = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2, 2).double())
    alone = nn.Parameter(torch.ones(3))
    opt, opt_alone = asgda([single, double], warm_start=True), asgda([alone], warm_start=True)
    for x in (single, double, alone):
        x.grad = torch.full_like(x, 0.5)
    opt.move()
    opt_alone.move()
    assert torch.equal(single.detach(), alone.detach())
    torch.testing.assert_close(double.detach().float(), single.detach()[0].expand(2, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -1.0}, "`lr` must be a finite number of at least 0, got -1.0"),
        ({"lr": float("nan")}, "`lr`"),
        ({"k": 0.0}, "`k` must be a finite number above 0, got 0.0"),
        ({"m": 0.0}, "`m` must be a finite number above 0, got 0.0"),
        ({"iota_descent": -0.1}, "`iota_descent`"),
        ({"iota_ascent": float("inf")}, "`iota_ascent`"),
        ({"warm_start": "no"}, "`warm_start` must be true or false"),
        ({"weight_decay": -0.1}, "`weight_decay`"),
    ],
)
def test_bad_options(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        asgda([nn.Parameter(torch.ones(1))], **options)


@pytest.mark.parametrize(
    ("box", "message"),
    [
        (3.0, "must be a pair"),
        ((1.0, 0.0), "low <= high"),
        ([(0.0, 1.0)] * 2, "a list of 2 for 1 parameters"),
        ([(0.0, 1.0, 2.0)], "must be a pair"),
        ((float("nan"), 1.0), "numbers or tensors as bounds, got"),
        (("0", "1"), "numbers or tensors as bounds, got"),
    ],
)
def test_bad_boxes(box: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        asgda([{"params": [nn.Parameter(torch.ones(1))], "box": box}])


def test_step_sizes_by_direction() -> None:
    x, y, z = (nn.Parameter(torch.ones(1)) for _ in range(3))
    opt = asgda([x], lr=0.32, iota_descent=1.0, iota_ascent=2.0)
    opt.add_param_group({"params": y, "ascent": True})
    opt.add_param_group({"params": [z], "ascent": True, "lr": 0.7})
    assert [group["lr"] for group in opt.param_groups] == [0.32, 0.02, 0.7]
    assert [group["iota"] for group in opt.param_groups] == [1.0, 2.0, 2.0]


def test_bad_ascent_options_and_sparse_gradients() -> None:
    x = nn.Parameter(torch.ones(2))
    with pytest.raises(InputError, match="`lr_ascent`"):
        asgda([{"params": [x], "ascent": True}], lr_ascent=-1.0)
    with pytest.raises(InputError, match="`lr` must be a finite number of at least 0, got -2"):
        asgda([{"params": [x], "lr": -2}])
    with pytest.raises(InputError, match=r"needs the key 'params', got the keys \['lr'\]"):
        asgda([{"lr": 1.0}])
    opt = asgda([x])
    x.grad = torch.tensor([1.0, 0.0]).to_sparse()
    with pytest.raises(InputError, match="sparse"):
        opt.move()


def test_one_evaluation_where_the_first_does_not_count() -> None:
    """ρ = min(1, ι η²) is 1 for the first steps only; evaluating twice all the same goes the same way."""
    network, loss_fn, _ = make_problem()
    twin, twin_loss = copy.deepcopy(network), copy.deepcopy(loss_fn)
    opt, twice = (
        asgda(
            [{"params": net.parameters()}, *fn.param_groups()],
            lr=0.5,
            k=1,
            m=1,
            iota_descent=4,
            iota_ascent=4,
        )
        for net, fn in ((network, loss_fn), (twin, twin_loss))
    )
    counts: list[int] = []
    for step in range(12):
        evaluate = evaluation(network, loss_fn, opt, step)
        losses: list[Tensor] = []

        def closure(evaluate: Callable[[], Tensor] = evaluate, losses: list[Tensor] = losses) -> Tensor:
            losses.append(evaluate())
            return losses[-1]

        counts.append(opt.evaluations_per_step)
        assert torch.equal(opt.step(closure), losses[0])
        assert len(losses) == counts[-1]

        twin_evaluate = evaluation(twin, twin_loss, twice, step)
        twin_evaluate()
        twice.move()
        twin_evaluate()
        twice.step()
        ours, theirs = (
            [*network.parameters(), *loss_fn.parameters()],
            [*twin.parameters(), *twin_loss.parameters()],
        )
        for x, y in zip(ours, theirs, strict=True):
            assert torch.equal(x, y)
    assert counts == [1] * 8 + [2] * 4  # ρ < 1 as soon as (1 + t)^⅔ > 4


def test_warm_start_needs_the_first_gradient() -> None:
    opt = asgda([nn.Parameter(torch.ones(1))], k=1.0, m=1.0, iota_descent=10.0, warm_start=True)
    assert opt.evaluations_per_step == 2
    closure = quadratic_closure(opt)
    opt.step(closure)
    assert opt.evaluations_per_step == 1


def test_a_move_whose_gradient_was_refused_is_not_repeated() -> None:
    """As with a gradient scaler that finds an overflow after the move and does not call ``step``."""
    opt = asgda([nn.Parameter(torch.ones(1))], lr=0.1, k=1.0, m=1.0, iota_descent=10.0)
    closure = quadratic_closure(opt)
    (x,) = opt.param_groups[0]["params"]
    opt.step(closure)
    opt.move()
    moved = x.detach().clone()
    assert not torch.equal(moved, torch.ones(1))
    opt.move()
    assert torch.equal(x.detach(), moved)
    closure()
    opt.step()
    assert opt.param_groups[0]["t"] == 2
    assert torch.equal(opt.state[x]["v"], 2 * moved)
