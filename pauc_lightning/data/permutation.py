"""The one source of randomness of splits and samplers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def permutation(n: int, seed: int, *keys: int) -> NDArray[np.int64]:
    """A uniform permutation of ``range(n)`` that depends on ``(seed, *keys)`` and on nothing else.

    It sorts raw output of PCG64: numpy keeps that stream fixed for ever, which it does not promise for
    ``Generator.permutation``. No global generator is touched.

    Args:
        n: How many numbers to permute.
        seed: The user's seed; not negative.
        keys: What the permutation is for, such as an epoch; different keys give independent permutations.

    Example:
        >>> permutation(5, 0, 1).tolist(), permutation(5, 0, 2).tolist()
        ([1, 3, 2, 0, 4], [1, 4, 2, 3, 0])
    """
    bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=keys))
    return np.argsort(bits.random_raw(n), kind="stable").astype(np.int64, copy=False)
