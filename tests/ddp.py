"""Run a test's function on several gloo processes: ``from ddp import run_on_ranks``."""

from __future__ import annotations

import importlib.util
import inspect
import pickle
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import spawn


def run_on_ranks(fn: Callable[..., Any], world_size: int = 2, *args: Any) -> list[Any]:
    """Call ``fn(rank, *args)`` in ``world_size`` processes of one gloo group; the results in rank order.

    ``fn`` is a top-level function of a test file; arguments and results must be picklable. An exception on
    any rank is raised here with its traceback. A spawn imports torch anew (seconds): put many checks in one.
    """
    source = inspect.getsourcefile(fn)
    if source is None or "." in fn.__qualname__:
        raise TypeError(f"fn must be a top-level function of a file, got {fn!r}")
    with tempfile.TemporaryDirectory() as folder:
        worker_args = (world_size, folder, fn.__module__, source, fn.__name__, args)
        spawn(_worker, worker_args, nprocs=world_size)
        return [pickle.loads((Path(folder) / f"result{rank}").read_bytes()) for rank in range(world_size)]


def _worker(
    rank: int, world_size: int, folder: str, module_name: str, source: str, name: str, args: tuple[Any, ...]
) -> None:
    # pytest's importlib mode invents module names, so the file is loaded by its path, not by import.
    spec = importlib.util.spec_from_file_location(module_name, source)
    if spec is None or spec.loader is None:
        raise ImportError(source)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/rendezvous",
        rank=rank,
        world_size=world_size,
        timeout=timedelta(seconds=120),
    )
    try:
        result = getattr(module, name)(rank, *args)
    finally:
        dist.destroy_process_group()
    (Path(folder) / f"result{rank}").write_bytes(pickle.dumps(result))
