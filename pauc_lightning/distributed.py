"""Helpers for ``torch.distributed``; every function is the identity in a single process."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


def world_size() -> int:
    """Return the number of processes that train together; 1 without an initialised process group."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return this process's number in ``range(world_size())``."""
    return dist.get_rank() if world_size() > 1 else 0


def is_main_process() -> bool:
    """Return whether this is rank 0; also before the process group exists, as Lightning numbers processes earlier."""
    from lightning.fabric.utilities.rank_zero import rank_zero_only  # callers have loaded it anyway

    return int(getattr(rank_zero_only, "rank", 0)) == 0


def mean_across_ranks(value: Tensor) -> Tensor:
    """Return the mean of ``value`` over the ranks, detached; on one process ``value`` itself."""
    if world_size() == 1:
        return value.detach()
    value = value.detach().clone()
    dist.all_reduce(value)
    return value / world_size()


def share_buffers(module: nn.Module) -> None:
    """Copy the buffers of rank 0, such as the running statistics of batch normalisation, to every rank.

    DDP does so only at the beginning of a training step, so after a step they differ: each rank would evaluate a
    different model, and only rank 0's is saved.
    """
    if world_size() > 1:
        for buffer in module.buffers():
            dist.broadcast(buffer, src=0)


def _gather_shards(tensor: Tensor) -> tuple[list[Tensor], int]:
    """Return every rank's ``tensor`` (first dimensions may differ) and the position of this rank's."""
    n_ranks = world_size()
    length = torch.tensor([tensor.shape[0]], device=tensor.device)
    lengths = [torch.empty_like(length) for _ in range(n_ranks)]
    dist.all_gather(lengths, length)
    sizes = [int(n.item()) for n in lengths]
    padded = tensor.new_zeros((max(sizes), *tensor.shape[1:]))
    padded[: tensor.shape[0]] = tensor
    shards = [torch.empty_like(padded) for _ in range(n_ranks)]
    dist.all_gather(shards, padded)
    return [shard[:size] for shard, size in zip(shards, sizes, strict=True)], sum(sizes[: rank()])


def gather(tensor: Tensor) -> Tensor:
    """Concatenate ``tensor`` over the ranks in rank order, without gradient; shards may differ in length."""
    if world_size() == 1:
        return tensor.detach()
    shards, _ = _gather_shards(tensor.detach())
    return torch.cat(shards)


class _GatherWithGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        shards, ctx.start = _gather_shards(tensor)
        ctx.length = tensor.shape[0]
        return torch.cat(shards)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (grad,) = grads
        return grad[ctx.start : ctx.start + ctx.length] * world_size()


def gather_with_grad(tensor: Tensor) -> Tensor:
    """Concatenate ``tensor`` over the ranks so that a loss on the result is the loss of the union batch.

    Every rank must compute the same loss from the result. The gradient that flows back into this rank's shard is
    multiplied by the number of ranks, because data-parallel training *averages* the ranks' gradients: the
    optimizer then sees exactly the gradient of one process on the union batch.
    """
    if world_size() == 1:
        return tensor
    gathered: Tensor = _GatherWithGrad.apply(tensor)
    return gathered
