"""Groups: samples that belong together, such as those of one patient, and stay on one side of the split."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from pauc_lightning.data.permutation import permutation

_GROUP_STREAM = 6  # random stream; 0 to 5 belong to other splits, the samplers and the scoring pass
_N_PARTS = 3


def numbered(values: Sequence[Hashable]) -> NDArray[np.int64]:
    """A number for each value, equal for equal values, in the order of their first appearance.

    Example:
        >>> numbered(["b", "a", "b"]).tolist()
        [0, 1, 0]
    """
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)


def equal_rows(inputs: Tensor) -> NDArray[np.int64]:
    """A number for each row, equal for rows that hold the same numbers; NaN equals NaN and 0 equals −0.

    Args:
        inputs: Of shape ``(rows, ...)``.

    Example:
        >>> import torch
        >>> equal_rows(torch.tensor([[1.0, 0.0], [2.0, 0.0], [1.0, -0.0]])).tolist()
        [0, 1, 0]
    """
    rows = np.ascontiguousarray(inputs.flatten(1).numpy())
    return numbered([hashlib.blake2b(row + 0.0, digest_size=16).digest() for row in rows])


def joined(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Groups that hold together what is together in either: the connected components.

    Example:
        >>> joined(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])).tolist()
        [0, 0, 0, 1]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_first, n_second = int(first.max()) + 1, int(second.max()) + 1
    n = n_first + n_second
    links = coo_array((np.ones(len(first), dtype=np.int8), (first, n_first + second)), shape=(n, n))
    _, component = connected_components(links, directed=False)
    return numbered(component[first].tolist())


def divide_groups(
    labels: NDArray[np.int64], groups: NDArray[np.int64], fractions: Sequence[float], seed: int
) -> NDArray[np.int64]:
    """The part of every sample, 0, 1 or 2, so that no group is in two parts and each class is divided well.

    Groups are placed one after the other, those of many samples first and in random order among similar sizes, each
    where it brings the parts nearest to their targets: it minimises the sum over parts p and classes k of
    (nₚₖ − tₚₖ)²/tₚₖ, where tₚₖ is the part's fraction of the class. A class with at least as many groups as parts is
    then in every part.

    Args:
        labels: Class of every sample, of shape ``(n,)``.
        groups: Group of every sample, of shape ``(n,)``.
        fractions: Size of each of the three parts; they add up to 1.
        seed: Decides the random order; not negative.
    """
    _, group = np.unique(groups, return_inverse=True)
    classes, label = np.unique(labels, return_inverse=True)
    pairs, counts = np.unique(group * len(classes) + label, return_counts=True)
    contents: list[list[tuple[int, int]]] = [[] for _ in range(int(group.max()) + 1)]
    for pair, n in zip(pairs.tolist(), counts.tolist(), strict=True):
        contents[pair // len(classes)].append((pair % len(classes), n))
    totals = np.bincount(label).tolist()
    plan = _Plan(contents, [[fraction * n for n in totals] for fraction in fractions])
    for number in _order(np.bincount(group), seed).tolist():
        plan.put(number, min(range(_N_PARTS), key=lambda part: plan.cost(number, part)))
    plan.fill_empty_parts()
    return np.array(plan.part_of, dtype=np.int64)[group]


def _order(sizes: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """The order in which groups are placed: by size in powers of two, at random among those of similar size.

    Sorting by the exact size would leave little to the seed.
    """
    shuffled = permutation(len(sizes), seed, _GROUP_STREAM)
    magnitude = np.frexp(sizes[shuffled].astype(np.float64))[1]
    return shuffled[np.argsort(-magnitude, kind="stable")]


class _Plan:
    """Which group is in which part, and what each part still needs.

    Args:
        contents: For each group, its classes and the number of samples of each.
        targets: For each part and class, the number of samples that it should get.
    """

    def __init__(self, contents: list[list[tuple[int, int]]], targets: list[list[float]]) -> None:
        self._contents = contents
        self._targets = targets
        self._needs = [list(of_part) for of_part in targets]
        self.part_of = [-1] * len(contents)

    def cost(self, group: int, part: int) -> float:
        """The change of the distance to the targets if the part gets the group."""
        needs, targets = self._needs[part], self._targets[part]
        return sum(n * (n - 2 * needs[k]) / targets[k] for k, n in self._contents[group])

    def put(self, group: int, part: int) -> None:
        """Put a group into a part; take it out of the one where it is."""
        before = self.part_of[group]
        for k, n in self._contents[group]:
            self._needs[part][k] -= n
            if before >= 0:
                self._needs[before][k] += n
        self.part_of[group] = part

    def fill_empty_parts(self) -> None:
        """Give each part a group of every class that has enough groups, at the least cost."""
        holders: dict[int, list[int]] = {}
        for group, content in enumerate(self._contents):
            for k, _ in content:
                holders.setdefault(k, []).append(group)
        n_in = {k: Counter(self.part_of[group] for group in of_class) for k, of_class in holders.items()}
        for k in sorted(holders, key=lambda k: len(holders[k])):
            for part in range(_N_PARTS) if len(holders[k]) >= _N_PARTS else ():
                if n_in[k][part]:
                    continue
                harmless = [
                    group
                    for group in holders[k]
                    if all(n_in[j][self.part_of[group]] > 1 for j, _ in self._contents[group])
                ]
                movable = harmless or [group for group in holders[k] if n_in[k][self.part_of[group]] > 1]
                chosen = min(movable, key=lambda group: self._cost_of_move(group, part))
                for j, _ in self._contents[chosen]:
                    n_in[j][self.part_of[chosen]] -= 1
                    n_in[j][part] += 1
                self.put(chosen, part)

    def _cost_of_move(self, group: int, part: int) -> float:
        before = self.part_of[group]
        needs, targets = self._needs[before], self._targets[before]
        left = sum(n * (n + 2 * needs[k]) / targets[k] for k, n in self._contents[group])
        return left + self.cost(group, part)
