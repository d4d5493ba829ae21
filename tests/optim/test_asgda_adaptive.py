"""ASGDA's adaptive groups: against numpy, whatever the scale of the loss, and as a part of the optimizer's state."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pauc_lightning.errors import InputError
from pauc_lightning.optim import ASGDA

Array = NDArray[np.float64]
CURVATURE = np.array([1.0, 100.0, 0.01])
K, M, IOTA, LR, LR_ASCENT, DECAY = 1.2, 5.0, 0.8, 0.3, 0.2, 0.05


def game(scale: float = 1.0, **options: object) -> tuple[nn.Parameter, nn.Parameter, ASGDA]:
    """An adaptive x that descends, and a y in a box that ascends."""
    x = nn.Parameter(torch.tensor([1.0, -2.0, 3.0], dtype=torch.float64))
    y = nn.Parameter(torch.tensor([0.5], dtype=torch.float64))
    groups = [
        {"params": [x], "adaptive": True, "weight_decay": DECAY},
        {"params": [y], "ascent": True, "box": (-0.6, 0.6)},
    ]
    settings = {
        "lr": LR,
        "lr_ascent": LR_ASCENT / scale,
        "k": K,
        "m": M,
        "iota_descent": IOTA,
        "iota_ascent": IOTA,
    }
    return x, y, ASGDA(groups, **{**settings, **options})  # type: ignore[arg-type]


def evaluation(
    x: nn.Parameter, y: nn.Parameter, opt: ASGDA, step: int, scale: float = 1.0
) -> Callable[[], Tensor]:
    """Σ ½ d (x − u)² + y Σ x − y², with noise u that belongs to the step."""
    noise, curvature = torch.from_numpy(shift(step)), torch.from_numpy(CURVATURE)

    def closure() -> Tensor:
        opt.zero_grad()
        loss = scale * ((curvature * (x - noise) ** 2 / 2).sum() + y[0] * x.sum() - y[0] ** 2)
        torch.autograd.backward(loss)
        return loss

    return closure


def shift(step: int) -> Array:
    return np.random.default_rng(step).normal(size=3)


def run(x: nn.Parameter, y: nn.Parameter, opt: ASGDA, first: int, last: int, scale: float = 1.0) -> None:
    for step in range(first, last):
        opt.step(evaluation(x, y, opt, step, scale))


def test_five_steps_equal_the_rederivation() -> None:
    x_torch, y_torch, opt = game()
    x, y = np.array([1.0, -2.0, 3.0]), 0.5
    v, w = np.zeros(3), 0.0
    squares: list[Array] = []
    was_projected = False
    for t in range(5):
        run(x_torch, y_torch, opt, t, t + 1)

        eta = K / (M + t) ** (1 / 3)
        forget = 1 - IOTA * eta**2
        u = shift(t)
        old_x, old_y = CURVATURE * (x - u) + y, x.sum() - 2 * y
        weights = [0.99 ** (len(squares) - 1 - i) for i in range(len(squares))]
        mean = sum(a * s for a, s in zip(weights, squares, strict=True)) / sum(weights) if squares else 1.0
        x = (1 - eta) * x + eta * (x - LR * v / (np.sqrt(mean) + 1e-8) - LR * DECAY * x)
        goal = y + LR_ASCENT * w
        was_projected |= abs(goal) > 0.6
        y = (1 - eta) * y + eta * float(np.clip(goal, -0.6, 0.6))
        v = CURVATURE * (x - u) + y + forget * (v - old_x)
        w = x.sum() - 2 * y + forget * (w - old_y)
        squares.append(v**2)

        np.testing.assert_allclose(x_torch.detach().numpy(), x, rtol=1e-12, atol=0)
        np.testing.assert_allclose(y_torch.detach().numpy(), [y], rtol=1e-12, atol=0)
    assert was_projected
    assert not np.allclose(x, [1.0, -2.0, 3.0])


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_path_does_not_depend_on_the_scale_of_the_loss(scale: float) -> None:
    x, y, opt = game()
    run(x, y, opt, 0, 20)
    x2, y2, opt2 = game(scale)
    run(x2, y2, opt2, 0, 20, scale)
    torch.testing.assert_close(x2, x, rtol=1e-4, atol=1e-4)  # 1e-8 in the denominator
    torch.testing.assert_close(y2, y, rtol=1e-4, atol=1e-4)
    plain, _, opt3 = game(adaptive=False)
    opt3.param_groups[0]["adaptive"] = False
    run(plain, y, opt3, 0, 20)
    assert not torch.allclose(plain, x, atol=0.1)


def test_entries_of_very_different_curvature_arrive_together() -> None:
    """Without noise; steps that fit the largest curvature hardly move along the smallest."""
    ends = {}
    for adaptive in (True, False):
        x = nn.Parameter(torch.ones(3, dtype=torch.float64))
        opt = ASGDA([x], lr=0.05 if adaptive else 0.01, adaptive=adaptive)
        curvature = torch.from_numpy(CURVATURE)

        def closure(x: nn.Parameter = x, opt: ASGDA = opt, curvature: Tensor = curvature) -> Tensor:
            opt.zero_grad()
            loss = (curvature * x**2 / 2).sum()
            torch.autograd.backward(loss)
            return loss

        for _ in range(200):
            opt.step(closure)
        ends[adaptive] = x.detach().abs().max().item()
    assert ends[True] < 0.05
    assert ends[False] > 0.9


def test_resume_is_bit_identical_and_the_state_has_the_mean_square() -> None:
    x, y, opt = game()
    run(x, y, opt, 0, 6)
    file = io.BytesIO()
    torch.save([x.detach(), y.detach(), opt.state_dict()], file)
    run(x, y, opt, 6, 12)
    file.seek(0)
    kept_x, kept_y, state = torch.load(file, weights_only=True)
    assert [sorted(entry) for entry in state["state"].values()] == [["h", "v"], ["v"]]
    x2, y2, opt2 = game()
    with torch.no_grad():
        x2.copy_(kept_x)
        y2.copy_(kept_y)
    opt2.load_state_dict(state)
    run(x2, y2, opt2, 6, 12)
    assert torch.equal(x2, x)
    assert torch.equal(y2, y)


def test_a_failed_evaluation_leaves_the_mean_square_as_it_was() -> None:
    x, y, opt = game()
    run(x, y, opt, 0, 3)
    before, state = x.detach().clone(), copy.deepcopy(opt.state_dict())
    calls = []

    def failing() -> Tensor:
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("out of memory")
        return evaluation(x, y, opt, 3)()

    with pytest.raises(RuntimeError, match="out of memory"):
        opt.step(failing)
    assert torch.equal(x, before)
    assert torch.equal(opt.state[x]["h"], state["state"][0]["h"])


def test_a_warm_start_moves_every_entry_by_the_step_size() -> None:
    x = nn.Parameter(torch.tensor([3.0, -0.001, 0.0]))
    opt = ASGDA([x], lr=0.1, k=0.5, m=1.0, warm_start=True, adaptive=True)

    def closure() -> Tensor:
        opt.zero_grad()
        loss = (x**2).sum()
        torch.autograd.backward(loss)
        return loss

    opt.step(closure)
    torch.testing.assert_close(x.detach(), torch.tensor([2.95, 0.049, 0.0]))


def test_the_flag_must_be_a_flag() -> None:
    for groups in (
        [nn.Parameter(torch.ones(1))],
        [{"params": [nn.Parameter(torch.ones(1))], "adaptive": "yes"}],
    ):
        with pytest.raises(InputError, match="`adaptive` must be true or false"):
            ASGDA(groups, **({} if isinstance(groups[0], dict) else {"adaptive": "yes"}))  # type: ignore[arg-type]
