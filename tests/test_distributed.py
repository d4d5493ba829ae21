"""What the losses need from torch.distributed, on one process and on two gloo ranks with uneven shards."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from ddp import run_on_ranks

from pauc_lightning.distributed import gather, gather_with_grad, mean_across_ranks, rank, world_size


def test_one_process_is_the_identity() -> None:
    value = torch.tensor([1.0, 2.0], requires_grad=True)
    assert (world_size(), rank()) == (1, 0)
    for function in (gather, mean_across_ranks):
        result = function(value)
        assert result.tolist() == [1.0, 2.0]
        assert not result.requires_grad
    assert gather_with_grad(value) is value


def _on_a_rank(rank_: int) -> dict[str, Any]:
    """Rank 0 holds [1, 2, 3], rank 1 holds [10]; the loss is Σ x², whose gradient is 2x."""
    x = torch.tensor([1.0, 2.0, 3.0] if rank_ == 0 else [10.0], requires_grad=True)
    gathered = gather_with_grad(x)
    gathered.square().sum().backward()
    original = torch.tensor([2.0 + rank_])
    return {
        "ranks": (world_size(), rank()),
        "gathered": gathered.tolist(),
        "grad": x.grad,
        "detached": gather(x).requires_grad,
        "one_empty": gather(torch.arange(2 * rank_)).tolist(),
        "all_empty": gather(torch.empty(0, 2)).shape,
        "matrix": gather(torch.full((2 - rank_, 2), rank_)).tolist(),
        "bool": gather(torch.tensor([rank_ == 0])).tolist(),
        "mean": mean_across_ranks(original).tolist(),
        "untouched": original.tolist(),
    }


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    return run_on_ranks(_on_a_rank, 2)


def test_every_rank_sees_the_shards_in_rank_order(results: list[dict[str, Any]]) -> None:
    for rank_, result in enumerate(results):
        assert result["ranks"] == (2, rank_)
        assert result["gathered"] == [1.0, 2.0, 3.0, 10.0]
        assert result["one_empty"] == [0, 1]
        assert result["all_empty"] == (0, 2)
        assert result["matrix"] == [[0, 0], [0, 0], [1, 1]]
        assert result["bool"] == [True, False]
        assert not result["detached"]


def test_the_averaged_gradient_is_the_union_batch_s(results: list[dict[str, Any]]) -> None:
    # A parameter added to every x has the gradient Σ over the rank's shard; DDP averages it over the ranks.
    averaged = sum(float(result["grad"].sum()) for result in results) / 2
    assert averaged == 2 * (1 + 2 + 3 + 10)
    assert results[1]["grad"].tolist() == [2 * 2 * 10.0]


def test_mean_across_ranks_leaves_its_argument_alone(results: list[dict[str, Any]]) -> None:
    assert [result["mean"] for result in results] == [[2.5], [2.5]]
    assert [result["untouched"] for result in results] == [[2.0], [3.0]]
