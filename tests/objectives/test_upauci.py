"""UPAUCI's selection weights: the inner maximum, the stored weights, their ascent on one and several processes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from ddp import run_on_ranks
from torch import Tensor, nn

from pauc_lightning.distributed import mean_across_ranks
from pauc_lightning.errors import InputError
from pauc_lightning.objectives import UPAUCILoss

N_TRAIN = 12


def stored(min_tpr: float = 0.6, omega: float = 0.3, c_step: float = 0.8, n: int = N_TRAIN) -> UPAUCILoss:
    objective = UPAUCILoss(
        0.3, min_tpr, prior=0.4, omega=omega, weights="ascent", train_size=n, c_step=c_step, c=0.5
    ).double()
    values = {"a": 0.8, "b": 0.3, "gamma": -0.2, "s_neg": 0.7, "s_pos": -0.5}
    with torch.no_grad():
        for name, parameter in objective.named_parameters():
            parameter.fill_(values[name])
    return objective


def weights(objective: UPAUCILoss) -> Tensor:
    assert objective.c is not None
    return objective.c


def batch(seed: int, n: int = N_TRAIN) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.rand(n, generator=generator, dtype=torch.float64)
    return scores, (torch.rand(n, generator=generator) < 0.4).long()


def excess(scores: Tensor, target: Tensor) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Loss minus threshold of every instance at the variables of ``stored()``, by hand."""
    f, y = scores.numpy(), target.numpy()
    P = (f - 0.8) ** 2 - 2 * (1 - 0.2) * f
    N = (f - 0.3) ** 2 + 2 * (1 - 0.2) * f
    return np.where(y == 1, P + 0.5, N - 0.7)


@pytest.mark.parametrize("omega", [0.0, 0.05, 0.4])
@pytest.mark.parametrize("min_tpr", [0.0, 0.6])
def test_closed_form_is_the_maximum_over_the_weights(omega: float, min_tpr: float) -> None:
    """Stored weights at the inner maximum give the closed form's value; weights anywhere else give less."""
    scores, target = batch(1)
    index = torch.arange(N_TRAIN)
    objective = stored(min_tpr, omega)
    x = excess(scores, target)
    best = np.clip(x / (2 * omega), 0, 1) if omega else (x > 0).astype(float)
    weights(objective).copy_(torch.from_numpy(best))
    at_best = objective(scores, target, index).item()
    assert objective.eval()(scores, target).item() == pytest.approx(at_best, abs=1e-12)
    objective.train()
    weighted = range(N_TRAIN) if min_tpr else np.flatnonzero(target.numpy() == 0)
    for i in weighted:
        for c in (0.0, 0.3, 0.7, 1.0):
            if abs(c - best[i]) > 0.01 and abs(x[i]) > 1e-3:
                weights(objective)[i] = c
                assert objective(scores, target, index).item() < at_best
        weights(objective)[i] = best[i]


def test_ascent_step_by_hand() -> None:
    """Visited weights move by step·(x − 2ωc), repeated indices by the sum of their steps, the others not at all."""
    scores, target = batch(2, 5)
    objective = stored(omega=0.3, c_step=0.8)
    index = torch.tensor([3, 7, 3, 0, 11])
    objective.ascend_(scores, target, index)
    step = 0.8 * (excess(scores, target) - 2 * 0.3 * 0.5)
    expected = np.full(N_TRAIN, 0.5)
    for i, delta in zip(index.tolist(), step, strict=True):
        expected[i] += delta
    np.testing.assert_allclose(weights(objective).numpy(), expected.clip(0, 1), rtol=0, atol=1e-12)
    assert {0.0, 1.0} & set(weights(objective).tolist())  # the box was active somewhere


def test_one_way_leaves_the_positives_alone() -> None:
    scores, target = batch(3)
    objective = stored(min_tpr=0.0)
    objective.ascend_(scores, target, torch.arange(N_TRAIN, dtype=torch.int32))
    moved = weights(objective).numpy() != 0.5
    np.testing.assert_array_equal(moved, target.numpy() == 0)


@pytest.mark.parametrize("c_step", [0.2, 1 / (2 * 0.3)])
def test_ascent_converges_to_the_inner_maximum(c_step: float) -> None:
    scores, target = batch(4)
    objective = stored(omega=0.3, c_step=c_step)
    visits = 1 if c_step > 1 else 200  # the long step is Newton's
    for _ in range(visits):
        objective.ascend_(scores, target, torch.arange(N_TRAIN))
    best = np.clip(excess(scores, target) / 0.6, 0, 1)
    assert ((best > 0) & (best < 1)).any()
    np.testing.assert_allclose(weights(objective).numpy(), best, rtol=0, atol=1e-10)


def test_state_is_four_bytes_per_instance_and_moves_with_the_module() -> None:
    objective = UPAUCILoss(0.3, weights="ascent", train_size=1000, c=0.25)
    per_instance = [buffer for buffer in objective.buffers() if len(buffer) == 1000]
    assert sum(buffer.element_size() for buffer in per_instance) == 4
    assert objective.per_instance_buffers == ("c",)
    assert torch.equal(objective.state_dict()["c"], torch.full((1000,), 0.25))
    assert weights(objective.to(torch.float64)).dtype == torch.float64
    assert UPAUCILoss(0.3).per_instance_buffers == ()
    assert "c" not in UPAUCILoss(0.3).state_dict()


def on_rank(rank: int) -> tuple[Tensor, list[Tensor]]:
    """Two training batches in uneven shards with a repeated index across them; weights and mean gradients."""
    objective = stored()
    gradients: list[Tensor] = []
    for seed, border in ((5, 2), (6, 9)):
        scores, target = batch(seed)
        index = torch.tensor([4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
        shard = slice(0, border) if rank == 0 else slice(border, None)
        scores, target, index = scores[shard], target[shard], index[shard]
        objective.ascend_(scores, target, index)
        objective.zero_grad()
        objective(scores, target, index, normalizer=N_TRAIN / 2).backward()
        for parameter in objective.parameters():
            assert parameter.grad is not None
            gradients.append(mean_across_ranks(parameter.grad))
    return weights(objective), gradients


def test_two_processes_equal_one_on_the_union_batch() -> None:
    objective = stored()
    gradients: list[Tensor] = []
    for seed in (5, 6):
        scores, target = batch(seed)
        index = torch.tensor([4, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
        objective.ascend_(scores, target, index)
        objective.zero_grad()
        objective(scores, target, index).backward()
        gradients += [parameter.grad for parameter in objective.parameters() if parameter.grad is not None]
    ranks = run_on_ranks(on_rank, 2)
    assert torch.equal(ranks[0][0], ranks[1][0])
    for c, mean_gradients in ranks:
        torch.testing.assert_close(c, weights(objective), rtol=0, atol=1e-14)
        torch.testing.assert_close(mean_gradients, gradients, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UPAUCILoss(0.3, weights="best"), "`weights`"),  # type: ignore[arg-type]
        (lambda: UPAUCILoss(0.3, weights="ascent"), "`train_size` must be the number"),
        (lambda: UPAUCILoss(0.3, weights="ascent", train_size=0), "`train_size`"),
        (lambda: UPAUCILoss(0.3, c=1.5), r"`c` must be a finite number in \[0, 1\]"),
        (lambda: UPAUCILoss(0.3, c_step=0.0), "`c_step`"),
    ],
)
def test_bad_arguments(make: Callable[[], nn.Module], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_bad_indices() -> None:
    scores, target = batch(7, 3)
    objective = stored()
    with pytest.raises(InputError, match=r"in train\(\) mode needs `index`"):
        objective(scores, target)
    for index in (torch.tensor([0, 1, N_TRAIN]), torch.tensor([0, -1, 1])):
        for use in (objective, objective.ascend_):
            with pytest.raises(InputError, match=r"must be in \[0, 12\), got values from"):
                use(scores, target, index)
    assert (weights(objective) == 0.5).all()
    with pytest.raises(InputError, match="weights='ascent', but this objective has weights='closed_form'"):
        UPAUCILoss(0.3).ascend_(scores, target, torch.arange(3))


def test_selection_weights_are_the_inner_maximum() -> None:
    objective = UPAUCILoss(
        max_fpr=0.5, min_tpr=0.5, omega=0.2, a=0.8, b=0.3, gamma=-0.2, s_neg=0.4, s_pos=-1.0
    )
    scores, target = torch.tensor([0.9, 0.2, 0.1, 0.5]), torch.tensor([1, 1, 0, 0])
    # P - s: 0.01 - 1.44 + 1 and 0.36 - 0.32 + 1; N - s_neg: 0.04 + 0.16 - 0.4 and 0.04 + 0.8 - 0.4
    torch.testing.assert_close(
        objective.selection_weights(scores, target), torch.tensor([0.0, 1.0, 0.0, 1.0]), rtol=0, atol=1e-6
    )
    gentle = UPAUCILoss(max_fpr=0.5, omega=2.0, a=0.8, b=0.3, gamma=-0.2, s_neg=0.4)
    torch.testing.assert_close(
        gentle.selection_weights(scores, target), torch.tensor([1.0, 1.0, 0.0, 0.11]), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("min_tpr", [0.0, 0.6])
def test_eval_does_not_read_the_stored_weights(min_tpr: float) -> None:
    """It is the closed form at the same variables, with indices or without, whatever is stored."""
    scores, target = batch(8)
    objective = stored(min_tpr)
    closed_form = UPAUCILoss(0.3, min_tpr, prior=0.4, omega=0.3).double()
    closed_form.load_state_dict({k: v for k, v in objective.state_dict().items() if k != "c"})
    expected = closed_form(scores, target).item()
    index = torch.arange(N_TRAIN)
    assert objective(scores, target, index).item() != pytest.approx(expected, abs=1e-3)  # all weights are ½
    objective.eval()
    assert objective(scores, target, index).item() == expected
    assert objective(scores, target).item() == expected
    torch.testing.assert_close(
        objective.selection_weights(scores, target, index), closed_form.selection_weights(scores, target)
    )
