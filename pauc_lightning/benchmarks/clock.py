"""The clock of the benchmarks."""

from __future__ import annotations

import time

import torch


def now(device: torch.device) -> float:
    """Seconds: of this process's processors on a CPU, so that other work does not count; else by the clock.

    On a GPU the work that has been asked for is finished first.
    """
    if device.type == "cpu":
        return time.process_time()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
