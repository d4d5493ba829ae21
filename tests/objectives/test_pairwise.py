"""The blockwise table of pairs, and what every pairwise objective promises: classes, state, ranks, memory."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from ddp import run_on_ranks
from torch import Tensor, nn

from pauc_lightning.errors import InputError
from pauc_lightning.objectives import AUCExpLoss, AUCPolyLoss, pairwise
from pauc_lightning.objectives.agd_sbcd import AGDSBCDLoss
from pauc_lightning.objectives.mb import MBLoss
from pauc_lightning.objectives.pairwise import (
    PairwiseObjective,
    StatefulPairwiseObjective,
    add_at_,
    weighted_row_means,
)
from pauc_lightning.objectives.sopa import SOPALoss
from pauc_lightning.objectives.sopa_s import SOPASLoss
from pauc_lightning.objectives.surrogate import SURROGATES, AnySurrogateName, SurrogateName, get_surrogate

TRAIN_SIZE = 16

OBJECTIVES: dict[str, Callable[[], PairwiseObjective]] = {
    "mb": lambda: MBLoss(max_fpr=0.5),
    "mb_two_way": lambda: MBLoss(max_fpr=0.5, min_tpr=0.5),
    "sopa": lambda: SOPALoss(max_fpr=0.5, train_size=TRAIN_SIZE),
    "sopa_two_way": lambda: SOPALoss(0.5, 0.5, train_size=TRAIN_SIZE, outer_threshold_lr=3.0),
    "sopa_s": lambda: SOPASLoss(train_size=TRAIN_SIZE, lambda_=0.1),
    "sopa_s_two_way": lambda: SOPASLoss(min_tpr=0.5, train_size=TRAIN_SIZE, lambda_=0.1, tau=0.3),
    "agd_sbcd": lambda: AGDSBCDLoss(0.5, train_size=TRAIN_SIZE, threshold_lr=0.9, surrogate="logistic"),
    "auc_poly": lambda: AUCPolyLoss(gamma=0.03),
    "auc_poly_two_way": lambda: AUCPolyLoss(min_tpr=0.5, gamma=3.0),
    "auc_exp": lambda: AUCExpLoss(gamma=30.0),
    "auc_exp_two_way": lambda: AUCExpLoss(min_tpr=0.5, gamma=8.0),
}
FROZEN_WEIGHTS = ("sopa_two_way", "sopa_s", "sopa_s_two_way")
"""Methods whose weights depend on the scores but are constants for the gradient, by definition."""
STATEFUL = [name for name, build in OBJECTIVES.items() if isinstance(build(), StatefulPairwiseObjective)]


def random_batch(seed: int, size: int = 12) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs with three features, labels and indices (with repetitions); the first half is positive."""
    generator = torch.Generator().manual_seed(seed)
    index = torch.randint(TRAIN_SIZE, (size,), generator=generator)
    x = torch.randn(size, 3, generator=generator, dtype=torch.float64)
    return x, (index < TRAIN_SIZE // 2).long(), index


def snapshot(objective: nn.Module) -> dict[str, Tensor]:
    return copy.deepcopy(objective.state_dict())


# ---------------------------------------------------------------------------------------- the blocks


@pytest.mark.parametrize("name", ["squared", "logistic"])
@pytest.mark.parametrize("block_pairs", [1, 13, 1000])
def test_blocks_equal_the_table(
    name: SurrogateName, block_pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Value, statistic and gradient, whether a block holds one row, some rows or the whole table."""
    monkeypatch.setattr(pairwise, "CPU_BLOCK_PAIRS", block_pairs)
    generator = torch.Generator().manual_seed(0)
    f_pos, f_neg, upstream = (
        torch.randn(n, generator=generator, dtype=torch.float64, requires_grad=True) for n in (7, 5, 7)
    )
    row_weight = torch.rand(7, 1, generator=generator, dtype=torch.float64)

    def weigh(losses: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
        return row_weight[rows] * losses.sqrt(), losses.amax(dim=1)

    means, top = weighted_row_means(f_pos, f_neg, get_surrogate(name), weigh)
    gradients = torch.autograd.grad((means * upstream.detach()).sum(), (f_pos, f_neg))

    gap = f_pos[:, None] - f_neg
    table = (1 - gap) ** 2 if name == "squared" else torch.log(1 + torch.exp(-gap))
    expected = (row_weight * table.detach().sqrt() * table).mean(dim=1)
    expected_gradients = torch.autograd.grad((expected * upstream.detach()).sum(), (f_pos, f_neg))
    torch.testing.assert_close(means, expected)
    torch.testing.assert_close(top, table.detach().amax(dim=1))
    torch.testing.assert_close(gradients, expected_gradients)
    assert not top.requires_grad


@pytest.mark.parametrize("name", [*SURROGATES])
def test_surrogates(name: AnySurrogateName) -> None:
    """None increases up to a gap of 1, the derivative is the value's, and large gaps do not overflow."""
    surrogate = SURROGATES[name]
    gaps = torch.linspace(-3, 3, 60, dtype=torch.float64, requires_grad=True)
    value = surrogate.value(gaps)
    (slope,) = torch.autograd.grad(value.sum(), gaps)
    torch.testing.assert_close(surrogate.derivative(gaps.detach()), slope)
    rising = gaps[1:][value.diff() > 0]
    assert len(rising) == 0 or (name == "squared" and rising.min() > 1)
    if name != "exponential":  # its logarithm is used
        assert torch.isfinite(surrogate.value(torch.tensor([-1e4, 1e4]))).all()


def test_other_surrogates_are_refused() -> None:
    """The published methods keep to the published ones."""
    with pytest.raises(InputError, match=r"`surrogate` must be one of squared, logistic, got 'hinge'"):
        get_surrogate("hinge")  # type: ignore[arg-type]


_MEMORY_SCRIPT = r"""
import re, torch
from pauc_lightning.objectives import AUCExpLoss, MBLoss, SOPALoss, SOPASLoss

n = 16384
for objective in (
    MBLoss(max_fpr=1.0),
    SOPALoss(0.3, 0.7, train_size=2 * n),
    SOPASLoss(min_tpr=0.5, train_size=2 * n, lambda_=0.1),
    AUCExpLoss(min_tpr=0.5),
):
    scores = torch.rand(2 * n, requires_grad=True)
    objective(scores, torch.arange(2 * n) % 2, torch.arange(2 * n)).backward()
    assert scores.grad.isfinite().all() and scores.grad.count_nonzero() > n
print(re.search(r"VmHWM:\s*(\d+) kB", open("/proc/self/status").read())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
def test_16384_by_16384_pairs_fit_into_1_gib() -> None:
    """The whole process, torch included, forward and backward; one table alone would be 1 GiB.

    Not by ru_maxrss, which starts at the size of the process that starts this one.
    """
    result = subprocess.run(
        [sys.executable, "-c", _MEMORY_SCRIPT], capture_output=True, text=True, check=True
    )
    assert int(result.stdout) < 2**20


# ---------------------------------------------------------------------------------------- batches and classes


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("label", [0, 1])
def test_a_batch_of_one_class_has_loss_and_gradient_zero(name: str, label: int) -> None:
    objective = OBJECTIVES[name]()
    before = snapshot(objective)
    scores = torch.rand(5, requires_grad=True)
    loss = objective(scores, torch.full((5,), label), torch.arange(5))
    loss.backward()
    assert loss.item() == 0
    assert scores.grad is not None
    assert scores.grad.tolist() == [0.0] * 5
    torch.testing.assert_close(objective.state_dict(), before, rtol=0, atol=0)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_any_finite_logits_give_finite_numbers(name: str, dtype: torch.dtype) -> None:
    """Logits from −3·10³⁸ to 3·10³⁸ through a sigmoid, in all pairs, visited three times."""
    extremes = torch.tensor([-3e38, -1e4, -88.0, -17.0, 0.0, 17.0, 88.0, 1e4, 3e38]).to(dtype)
    objective = OBJECTIVES[name]()
    target = torch.cat([torch.ones(9), torch.zeros(9)])
    for _ in range(3):
        logits = torch.cat([extremes, extremes]).requires_grad_()
        index = torch.arange(18) % TRAIN_SIZE
        loss = objective(logits.sigmoid(), target, index)
        loss.backward()
        assert loss.isfinite()
        assert loss.item() > 0
        assert logits.grad is not None
        assert logits.grad.isfinite().all()
    for value in objective.state_dict().values():
        assert not value.isnan().any()
        assert not value.isposinf().any()


@pytest.mark.parametrize("name", [name for name in OBJECTIVES if name not in FROZEN_WEIGHTS])
def test_gradient_is_the_derivative_of_the_value(name: str) -> None:
    x, target, index = random_batch(3)
    objective = OBJECTIVES[name]().double()

    def value(scores: Tensor) -> Tensor:
        loss: Tensor = copy.deepcopy(objective)(scores, target, index)
        return loss

    assert torch.autograd.gradcheck(value, x[:, 0].sigmoid().requires_grad_())


def test_half_precision_is_widened_and_shapes_are_checked() -> None:
    objective = SOPALoss(0.5, train_size=10)
    scores, index = torch.tensor([0.5, 0.25, 1.0], dtype=torch.bfloat16), torch.tensor([7, 8, 9])
    loss = objective(scores.requires_grad_(), torch.tensor([0.0, 1.0, 1.0]), index)
    loss.backward()
    assert loss.dtype == torch.float32
    assert loss.item() == (1.25**2 + 0.5**2) / 2 / 0.5
    assert scores.grad is not None
    assert scores.grad.dtype == torch.bfloat16
    assert objective.s.nonzero()[:, 0].tolist() == [8, 9]
    with pytest.raises(InputError, match=r"`scores` and `target` must be .*got shapes \(2, 1\) and \(2,\)"):
        objective(torch.zeros(2, 1), torch.zeros(2), torch.zeros(2).long())
    with pytest.raises(InputError, match=r"`index` must hold one integer per score, got shape \(3,\)"):
        objective(torch.zeros(2), torch.zeros(2), torch.zeros(3).long())


# ---------------------------------------------------------------------------------------- state


def test_repeated_indices_add_up() -> None:
    state = torch.tensor([1.0, 2.0, 3.0])
    add_at_(state, torch.tensor([2, 0, 2]), torch.tensor([0.5, 1.0, 0.25], dtype=torch.float64))
    assert state.tolist() == [2.0, 2.0, 3.75]


@pytest.mark.parametrize("name", STATEFUL)
def test_state_is_saved_moved_and_restored(name: str) -> None:
    """Training goes on after load_state_dict exactly as without it; the state follows .to()."""
    objective, copied = OBJECTIVES[name](), OBJECTIVES[name]()
    assert isinstance(objective, StatefulPairwiseObjective)
    initial = snapshot(objective)
    for seed in range(4):
        if seed == 2:
            copied.load_state_dict(snapshot(objective))
        x, target, index = random_batch(seed)
        loss = objective(x[:, 0].sigmoid(), target, index)
        if seed >= 2:
            assert copied(x[:, 0].sigmoid(), target, index).item() == loss.item()
    for key, value in objective.state_dict().items():
        assert torch.equal(value, copied.state_dict()[key])
        assert not torch.equal(value, initial[key]), key
    for buffer in objective.per_instance_buffers:
        assert objective.get_buffer(buffer).shape == (TRAIN_SIZE,)
    assert all(value.device.type == "meta" for value in objective.to("meta").state_dict().values())


@pytest.mark.parametrize("name", STATEFUL)
def test_only_visited_positives_change(name: str) -> None:
    objective = OBJECTIVES[name]()
    assert isinstance(objective, StatefulPairwiseObjective)
    before = snapshot(objective)
    objective(torch.tensor([0.1, 0.2, 0.3, 0.9]), torch.tensor([1, 0, 1, 0]), torch.tensor([4, 5, 6, 7]))
    for buffer in objective.per_instance_buffers:
        changed = (objective.get_buffer(buffer) != before[buffer]).nonzero()[:, 0].tolist()
        assert set(changed) <= {4, 6}
        assert changed or buffer == "y"  # the dual weights start at their upper bound


@pytest.mark.parametrize("name", STATEFUL)
def test_eval_needs_no_index_and_touches_no_state(name: str) -> None:
    objective = OBJECTIVES[name]()
    x, target, index = random_batch(0)
    objective(x[:, 0].sigmoid(), target, index)
    before = snapshot(objective)
    fresh, scores = OBJECTIVES[name]().eval(), x[:, 1].sigmoid()
    loss = objective.eval()(scores, target)
    assert loss.item() == fresh(scores, target).item() == objective(scores, target, index).item() > 0
    torch.testing.assert_close(objective.state_dict(), before, rtol=0, atol=0)
    with pytest.raises(InputError, match=r"in train\(\) mode needs `index`.*got None"):
        objective.train()(scores, target)


def test_train_size_is_checked() -> None:
    with pytest.raises(InputError, match="`train_size` must be a whole number, at least 1, got 0"):
        SOPALoss(max_fpr=0.3, train_size=0)


# ---------------------------------------------------------------------------------------- ranks


def _train(name: str, rank: int | None) -> dict[str, Any]:
    """Four steps of gradient descent on a linear model; with a rank, on that rank's uneven shard."""
    objective, w = OBJECTIVES[name]().double(), torch.zeros(3, dtype=torch.float64, requires_grad=True)
    gradients, losses = [], []
    for step in range(4):
        batch = random_batch(10 + step)
        if step == 3:  # rank 1 holds nothing at all
            shard = slice(None) if rank in (None, 0) else slice(0, 0)
        else:
            shard = {None: slice(None), 0: slice(0, 9), 1: slice(9, None)}[rank]
        x, target, index = (part[shard] for part in batch)
        loss = objective((x @ w).sigmoid(), target, index)
        (gradient,) = torch.autograd.grad(loss, w)
        if rank is not None:
            torch.distributed.all_reduce(gradient)
            gradient = gradient / torch.distributed.get_world_size()
        losses.append(loss.item())
        gradients.append(gradient)
        w = (w - 0.5 * gradient).detach().requires_grad_()
    return {"losses": losses, "gradients": gradients, "state": objective.state_dict()}


def _train_all(rank: int) -> dict[str, dict[str, Any]]:
    return {name: _train(name, rank) for name in OBJECTIVES}


def test_two_processes_equal_one_on_the_union_batch() -> None:
    results = run_on_ranks(_train_all, 2)
    for name in OBJECTIVES:
        union = _train(name, None)
        assert all(gradient.abs().max() > 1e-3 for gradient in union["gradients"]), name
        for result in results:
            assert result[name]["losses"] == pytest.approx(union["losses"], rel=1e-9), name
            torch.testing.assert_close(result[name]["gradients"], union["gradients"], rtol=1e-9, atol=1e-12)
            torch.testing.assert_close(result[name]["state"], union["state"], rtol=1e-9, atol=1e-12)
