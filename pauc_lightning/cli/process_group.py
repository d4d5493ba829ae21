"""Leaves torch's process group before the interpreter ends."""

from __future__ import annotations

import atexit
from functools import cache

import torch.distributed as dist


@cache
def leave_at_exit() -> None:
    """Destroy the process group when this process ends, whatever its backend.

    Lightning does so for NCCL only. The threads of a gloo group that is still alive may outlive what they use. On a
    busy machine two of six runs aborted after their report, with status 134 and "terminate called without an active
    exception", and torchrun waited five minutes for them on the other node.
    """
    atexit.register(_leave)


def _leave() -> None:
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()
