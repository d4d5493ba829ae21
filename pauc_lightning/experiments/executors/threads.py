"""Limits the threads of a job."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch
from threadpoolctl import threadpool_limits

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Within the block, let torch, the BLAS libraries and new processes compute with this number of threads.

    Libraries that are loaded within the block, and processes started there, read the number from the environment.
    """
    before = torch.get_num_threads(), {name: os.environ.get(name) for name in _VARIABLES}
    os.environ.update(dict.fromkeys(_VARIABLES, str(count)))
    torch.set_num_threads(count)
    try:
        with threadpool_limits(count, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before[0])
        for name, value in before[1].items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
