"""Random numbers that depend on the place in a run where they are drawn, not on what was drawn before."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def derive_seed(*keys: int) -> int:
    """Return a 63-bit seed for a tuple of integers such as ``(seed, epoch, batch, rank)``; equal keys, equal seed.

    Example:
        >>> derive_seed(1, 2) == derive_seed(1, 2), derive_seed(1, 2) == derive_seed(2, 1)
        (True, False)
    """
    text = ",".join(str(int(key)) for key in keys).encode()
    return (zlib.crc32(text) << 31) ^ zlib.crc32(b"pauc" + text)


@contextmanager
def seeded(*keys: int, device: torch.device | None = None) -> Iterator[None]:
    """Run a block with torch's generators seeded by ``keys``; afterwards the surrounding streams continue.

    This makes both evaluations of a minimax step see the same dropout noise, and lets a resumed run draw what the
    uninterrupted run would have drawn.

    Args:
        keys: Integers that name the place in the run.
        device: The accelerator whose generator is seeded besides the CPU's.
    """
    # torch.manual_seed would seed every accelerator, and formats a stack trace for each one that is absent.
    cpu, seed = torch.default_generator, derive_seed(*keys)
    if device is None or device.type == "cpu":
        state = cpu.get_state()
        cpu.manual_seed(seed)
        try:
            yield
        finally:
            cpu.set_state(state)
        return
    with torch.random.fork_rng(devices=[device], device_type=device.type):  # the CPU's generator as well
        cpu.manual_seed(seed)
        _seed_accelerator(device, seed)
        yield


def _seed_accelerator(device: torch.device, seed: int) -> None:
    backend = getattr(torch, device.type)
    generators = getattr(backend, "default_generators", ())
    if generators:  # CUDA and XPU have one per device
        generators[backend.current_device() if device.index is None else device.index].manual_seed(seed)
    else:
        backend.manual_seed(seed)
