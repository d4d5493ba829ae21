"""AGD-SBCD: objective and optimizer together against loops in numpy, and across a restart."""

from __future__ import annotations

import copy

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

from pauc_lightning.errors import InputError
from pauc_lightning.objectives.agd_sbcd import AGDSBCDLoss
from pauc_lightning.objectives.inner_loops import InnerLoops
from pauc_lightning.optim import AGDSBCDOptimizer

BETA, LR, THRESHOLD_LR, MU, GAMMA, DECAY, FIRST = 0.5, 0.4, 0.3, 2.0, 3.0, 0.1, 2
Array = npt.NDArray[np.float64]
Batch = tuple[Tensor, Tensor, Tensor]


def linear_batches(n_batches: int) -> list[Batch]:
    """Inputs with two features, labels and indices; samples 0 to 9 of 20 are positive. One batch repeats."""
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(20, 2, generator=generator, dtype=torch.float64)
    batches = []
    for number in range(n_batches):
        index = torch.randperm(20, generator=generator)[:12]
        if number == 4:
            index[0] = index[1] = index[index < 10][0]
        batches.append((inputs[index], (index < 10).long(), index))
    return batches


def build() -> tuple[nn.Linear, AGDSBCDLoss, AGDSBCDOptimizer]:
    network = nn.Linear(2, 1, bias=False).double()
    with torch.no_grad():
        network.weight.copy_(torch.tensor([[0.5, -1.0]]))
    objective = AGDSBCDLoss(
        BETA, train_size=20, threshold_lr=THRESHOLD_LR, first_loop=FIRST, surrogate="logistic"
    ).double()
    optimizer = AGDSBCDOptimizer(
        network.parameters(), objective.loops, lr=LR, mu=MU, gamma=GAMMA, weight_decay=DECAY
    )  # fmt: skip
    return network, objective, optimizer


def train(
    network: nn.Linear, objective: AGDSBCDLoss, optimizer: AGDSBCDOptimizer, batches: list[Batch]
) -> None:
    for x, target, index in batches:

        def closure(x: Tensor = x, target: Tensor = target, index: Tensor = index) -> float:
            optimizer.zero_grad()
            loss = objective(network(x)[:, 0], target, index)
            loss.backward()
            return float(loss.item())

        optimizer.step(closure)


def in_numpy(batches: list[Batch]) -> list[tuple[Array, Array]]:
    """(v, λ) after every batch: nested loops, all iterates kept, averages taken at the end."""
    w, lam = np.array([0.5, -1.0]), np.zeros(20)
    trace: list[tuple[Array, Array]] = []
    stream, k = iter(batches), 0
    while True:
        length, v, eta = FIRST * (k + 1) ** 2, w.copy(), LR / (k + 1)
        vs, lams = [], []
        for _ in range(length):
            batch = next(stream, None)
            if batch is None:
                return trace
            x, target, index = (part.numpy() for part in batch)
            pos, neg = np.flatnonzero(target), np.flatnonzero(1 - target)
            gradient, new_lam = np.zeros(2), lam.copy()
            for i in pos if len(neg) else []:  # no pairs, no step of λ
                above = 0
                for j in neg:
                    gap = v @ (x[i] - x[j])
                    if np.log(1 + np.exp(-gap)) > lam[index[i]]:
                        above += 1
                        gradient -= (x[i] - x[j]) / (1 + np.exp(gap)) / (len(pos) * len(neg))
                new_lam[index[i]] -= THRESHOLD_LR / (k + 1) * (BETA - above / len(neg))
            gradient += DECAY * v
            v, lam = (eta * w + MU * v - eta * MU * gradient) / (eta + MU), new_lam
            vs.append(v)
            lams.append(lam)
            if len(vs) == length:
                w = w - GAMMA / MU * (w - np.mean(vs, axis=0))
                lam = np.mean(lams, axis=0)
                trace.append((w.copy(), lam.copy()))
            else:
                trace.append((v.copy(), lam.copy()))
        k += 1


@pytest.mark.parametrize("one_class", [{}, {2: 0, 10: 1}, {2: 1, 3: 0, 9: 1}], ids=str)
def test_inner_and_outer_steps_against_numpy(one_class: dict[int, int]) -> None:
    """Loops of 2, 8 and 18 iterations (the last one cut short): two outer steps. Some batches, such as the loops'
    first ones at 2 and 10, have one class only: no pairs, but the loop begins at the mean of the one before.
    """
    batches = linear_batches(14)
    for number, label in one_class.items():
        x, target, index = batches[number]
        batches[number] = (x[target == label], target[target == label], index[target == label])
    network, objective, optimizer = build()
    for batch, (v, lam) in zip(batches, in_numpy(batches), strict=True):
        train(network, objective, optimizer, [batch])
        np.testing.assert_allclose(network.weight.detach().numpy()[0], v, rtol=1e-10)
        ours = objective.lambda_mean if optimizer.loops.t == 0 else objective.lambda_
        np.testing.assert_allclose(ours.numpy(), lam, atol=1e-12)
    assert (optimizer.loops.k, optimizer.loops.t) == (2, 4)
    assert (objective.lambda_ != 0).sum() >= 5


def test_a_restart_in_a_loop_changes_nothing() -> None:
    batches = linear_batches(14)
    uninterrupted = build()
    train(*uninterrupted, batches)
    for cut in (2, 6):  # between two loops, within one
        network, objective, optimizer = build()
        train(network, objective, optimizer, batches[:cut])
        saved = copy.deepcopy((network.state_dict(), objective.state_dict(), optimizer.state_dict()))
        resumed = build()
        resumed[0].load_state_dict(saved[0])
        resumed[1].load_state_dict(saved[1])
        resumed[2].load_state_dict(saved[2])
        train(*resumed, batches[cut:])
        assert torch.equal(resumed[0].weight, uninterrupted[0].weight)
        assert torch.equal(resumed[1].lambda_, uninterrupted[1].lambda_)


def test_parameters_without_gradient_stay_exactly_where_they_are() -> None:
    parameter = nn.Parameter(torch.tensor([0.1, 0.7]))
    optimizer = AGDSBCDOptimizer([parameter], loops=InnerLoops(3))
    for _ in range(5):
        optimizer.step()
    assert parameter.tolist() == torch.tensor([0.1, 0.7]).tolist()


def test_bad_settings_are_named() -> None:
    parameters = [nn.Parameter(torch.zeros(1))]
    with pytest.raises(InputError, match="`mu` must be a finite number above 0, got 0"):
        AGDSBCDOptimizer(parameters, loops=InnerLoops(50), mu=0)
    with pytest.raises(InputError, match="`weight_decay` must be a finite number of at least 0, got -1"):
        AGDSBCDOptimizer(parameters, loops=InnerLoops(50), weight_decay=-1)
    with pytest.raises(InputError, match="`first_loop` must be a whole number, at least 1, got 0"):
        InnerLoops(0)
    with pytest.raises(InputError, match="one without 'loops'"):
        AGDSBCDOptimizer(parameters, InnerLoops(50)).load_state_dict(torch.optim.SGD(parameters).state_dict())
    with pytest.raises(InputError, match="`loops` must be the InnerLoops"):
        AGDSBCDOptimizer(parameters, loops=50)  # type: ignore[arg-type]
