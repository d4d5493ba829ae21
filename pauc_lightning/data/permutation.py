"""The one source of randomness of splits and samplers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def permutations(count: int, n: int, seed: int, *keys: int) -> NDArray[np.int64]:
    """Independent uniform permutations of ``range(n)`` that depend on ``(seed, *keys)`` and on nothing else.

    They sort raw output of PCG64: numpy keeps that stream fixed for ever, which it does not promise for
    ``Generator.permutation``. No global generator is touched.

    Args:
        count: How many permutations.
        n: How many numbers to permute.
        seed: The user's seed; not negative.
        keys: What the permutations are for, such as an epoch; other keys give independent ones.

    Returns:
        One permutation per row, of shape ``(count, n)``.

    Example:
        >>> permutations(2, 5, 0, 1).tolist()
        [[1, 3, 2, 0, 4], [3, 1, 2, 0, 4]]
    """
    bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=keys)).random_raw(count * n)
    return np.argsort(bits.reshape(count, n), axis=1, kind="stable").astype(np.int64, copy=False)


def permutation(n: int, seed: int, *keys: int) -> NDArray[np.int64]:
    """One of :func:`permutations`, of shape ``(n,)``.

    Example:
        >>> permutation(5, 0, 1).tolist(), permutation(5, 0, 2).tolist()
        ([1, 3, 2, 0, 4], [1, 4, 2, 3, 0])
    """
    first: NDArray[np.int64] = permutations(1, n, seed, *keys)[0]
    return first
