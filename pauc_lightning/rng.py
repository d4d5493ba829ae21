"""Random numbers that depend on *where* in a run they are drawn, not on what was drawn before."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def derive_seed(*keys: int) -> int:
    """A 63-bit seed from a tuple of integers such as ``(seed, epoch, batch, rank)``; equal keys, equal seed.

    Example:
        >>> derive_seed(1, 2) == derive_seed(1, 2), derive_seed(1, 2) == derive_seed(2, 1)
        (True, False)
    """
    text = ",".join(str(int(key)) for key in keys).encode()
    return (zlib.crc32(text) << 31) ^ zlib.crc32(b"pauc" + text)


@contextmanager
def seeded(*keys: int, device: torch.device | None = None) -> Iterator[None]:
    """Run a block with torch's generators seeded by ``keys``; the surrounding streams continue untouched.

    Used for what must come out the same twice: both evaluations of a minimax step see the same dropout noise,
    and a resumed run draws what the uninterrupted one would have drawn.

    Args:
        keys: Integers that name the place in the run.
        device: The accelerator whose generator is involved, besides the CPU's.
    """
    accelerators = [device] if device is not None and device.type != "cpu" else []
    kind = accelerators[0].type if accelerators else "cuda"
    seed = derive_seed(*keys)
    with torch.random.fork_rng(devices=accelerators, device_type=kind):
        # torch.manual_seed would seed every accelerator, and formats a stack trace for each one that is absent.
        torch.default_generator.manual_seed(seed)
        for accelerator in accelerators:
            _seed_accelerator(accelerator, seed)
        yield


def _seed_accelerator(device: torch.device, seed: int) -> None:
    backend = getattr(torch, device.type)
    generators = getattr(backend, "default_generators", ())
    if generators:  # CUDA's and XPU's, one per device
        generators[backend.current_device() if device.index is None else device.index].manual_seed(seed)
    else:
        backend.manual_seed(seed)
