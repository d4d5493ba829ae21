"""Permutations for splits and samplers, reproducible on every machine and library version."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

_SIGN = np.uint64(1 << 63)
_SHORT = 20_000
"""Length up to which numpy sorts faster than torch; both sorts are stable, so the order is the same."""


def permutations(count: int, n: int, seed: int, *keys: int) -> NDArray[np.int64]:
    """Independent uniform permutations of ``range(n)`` that depend on ``(seed, *keys)`` only.

    Each is the sorting order of raw PCG64 output. numpy guarantees that stream, but not the results of
    ``Generator.permutation``, and a stable sort gives the same result in every library. No global generator is used.

    Args:
        count: Number of permutations.
        n: Length of each permutation.
        seed: The user's seed; not negative.
        keys: The purpose of the permutations, such as an epoch; different keys give independent permutations.

    Returns:
        One permutation per row, of shape ``(count, n)``.

    Example:
        >>> permutations(2, 5, 0, 1).tolist()
        [[1, 3, 2, 0, 4], [3, 1, 2, 0, 4]]
    """
    return _order(_random_bits(count * n, seed, keys).reshape(count, n))


def permutation(n: int, seed: int, *keys: int) -> NDArray[np.int64]:
    """The first of :func:`permutations`, of shape ``(n,)``.

    Example:
        >>> permutation(5, 0, 1).tolist(), permutation(5, 0, 2).tolist()
        ([1, 3, 2, 0, 4], [1, 4, 2, 3, 0])
    """
    return _order(_random_bits(n, seed, keys))


def _random_bits(n: int, seed: int, keys: tuple[int, ...]) -> NDArray[np.uint64]:
    bits: NDArray[np.uint64] = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=keys)).random_raw(n)
    return bits


def _order(bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The stable order of the last axis."""
    if bits.shape[-1] <= _SHORT:
        return np.argsort(bits, axis=-1, kind="stable")
    # torch sorts a long vector four times as fast as numpy, but needs signed numbers; flipping the top bit keeps
    # the order.
    order: NDArray[np.int64] = (
        torch.from_numpy((bits ^ _SIGN).view(np.int64)).sort(stable=True).indices.numpy()
    )
    return order
