"""The long tail and the split: which samples of a data set with classes are kept, and in which part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import combinations
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.arguments import check_number
from pauc_lightning.data.groups import divide_groups
from pauc_lightning.data.permutation import permutation
from pauc_lightning.errors import InputError
from pauc_lightning.region import select_count

TRAIN_FRACTION = 0.7
VAL_FRACTION = 0.15

_SPLIT_STREAM = 0  # keeps the permutations of splits apart from those of samplers


@dataclass(frozen=True)
class Split:
    """The samples of each part: three disjoint, ascending arrays of positions in the source."""

    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]

    def items(self) -> tuple[tuple[str, NDArray[np.int64]], ...]:
        """The parts with their names, in the order train, val, test."""
        return (("train", self.train), ("val", self.val), ("test", self.test))


def long_tail_counts(available: Sequence[int], imbalance_ratio: float | None) -> list[int]:
    """How many samples of each class to keep: an exponential profile over the classes in label order.

    Class i of K keeps ⌊N·ρ^{i/(K−1)}⌋ samples, where N is the size of the largest class and ρ the imbalance
    ratio, or all of its samples if it has fewer.

    Args:
        available: Number of samples of each class, in label order.
        imbalance_ratio: Ratio of the last class's size to the first's, in (0, 1]; ``None`` keeps everything.

    Example:
        >>> long_tail_counts([6000] * 10, 0.01)
        [6000, 3596, 2156, 1292, 774, 464, 278, 166, 100, 60]
        >>> long_tail_counts([5, 9, 7], None)
        [5, 9, 7]
    """
    check_imbalance_ratio(imbalance_ratio)
    if imbalance_ratio is None:
        return list(available)
    last = max(len(available) - 1, 1)
    largest = max(available)
    return [min(n, select_count(largest, imbalance_ratio ** (i / last))) for i, n in enumerate(available)]


def check_imbalance_ratio(imbalance_ratio: Any) -> None:
    """Refuse anything but None or a number in (0, 1]."""
    if imbalance_ratio is not None:
        hint = "0.01 leaves the last class a hundredth of the first; null (None) keeps every sample"
        check_number("imbalance_ratio", imbalance_ratio, above=0, at_most=1, hint=hint)


def check_classes(classes: Any) -> None:
    """Refuse anything but a list of distinct class ids or names."""
    if isinstance(classes, str) or not isinstance(classes, Sequence):
        raise InputError(
            f"`positive_classes` must be a list of class names or ids, got {classes!r}: write for example "
            "[cat, dog] or [3, 8]."
        )
    for name in classes:
        if isinstance(name, bool) or not isinstance(name, (str, Integral)):
            raise InputError(
                f"`positive_classes` has {name!r}, which is neither a class's name nor its id: give a whole number, or "
                'a name in quotes (YAML reads yes, no, on and off as true and false without them; "yes" is a name).'
            )
    repeated = sorted({str(name) for name in classes if list(classes).count(name) > 1})
    if repeated:
        raise InputError(
            f"`positive_classes` has {', '.join(repeated)} more than once: name each class once."
        )


def class_ids(classes: Sequence[int | str], names: Sequence[str]) -> tuple[int, ...]:
    """The ids of classes given by id or by name; ``names`` lists class 0, class 1, and so on.

    Example:
        >>> class_ids(["bird", 3], ["airplane", "automobile", "bird", "cat"])
        (2, 3)
    """
    unknown = [name for name in classes if isinstance(name, str) and name not in names]
    if unknown:
        near = [match for name in unknown for match in get_close_matches(name, names, n=1)]
        raise InputError(
            f"`positive_classes` has unknown names {unknown}: "
            + (f"did you mean {near}? " if near else "")
            + (f"Choose from {_brief(names)}." if names else "The classes have no names here, only ids.")
        )
    ids = tuple(names.index(name) if isinstance(name, str) else int(name) for name in classes)
    if len(set(ids)) < len(ids):
        twice = [label for label in dict.fromkeys(ids) if ids.count(label) > 1]
        raise InputError(
            f"`positive_classes={list(classes)}` has the classes {twice} by name and by id: name each class once."
        )
    return ids


def binary_targets(labels: NDArray[np.int64], positive_classes: Sequence[int]) -> NDArray[np.int64]:
    """1 where the class is one of ``positive_classes``, 0 elsewhere.

    Example:
        >>> binary_targets(np.array([0, 1, 2, 1]), [1]).tolist()
        [0, 1, 0, 1]
    """
    classes = np.unique(labels).tolist()
    unknown = sorted(set(positive_classes) - set(classes))
    if unknown:
        raise InputError(
            f"`positive_classes` has unknown ids {unknown}: choose from {_brief(classes)} of this data set."
        )
    if not positive_classes:
        raise InputError(
            f"`positive_classes` is empty: name at least one class of {_brief(classes)} as positive."
        )
    if set(positive_classes) >= set(classes):
        raise InputError(
            f"`positive_classes` names every class ({_brief(classes)}), so there are no negatives: leave at "
            "least one class out."
        )
    return np.isin(labels, list(positive_classes)).astype(np.int64)


def split_long_tail(
    labels: NDArray[np.int64],
    imbalance_ratio: float | None,
    seed: int,
    groups: NDArray[np.int64] | None = None,
) -> Split:
    """Keep a long tail of the classes and divide each class: 0.7 training, 0.15 validation, the rest test.

    Every class has its own random stream, so the samples chosen from one class do not depend on the others. Groups do
    not change which samples are kept; where no two of these share a group, they do not change the parts either.

    Args:
        labels: Class of every sample of the source, of shape ``(n,)``.
        imbalance_ratio: See :func:`long_tail_counts`.
        seed: Decides which samples are kept and their parts; not negative.
        groups: Group of every sample, if those of a group must be in the same part, of shape ``(n,)``. The fractions
            of each class are then as near to 0.7, 0.15 and 0.15 as the groups allow.

    Example:
        >>> split = split_long_tail(np.repeat([0, 1], [20, 20]), imbalance_ratio=0.5, seed=0)
        >>> [len(part) for _, part in split.items()]
        [21, 4, 5]
    """
    if len(labels) == 0:
        raise InputError("the data set has no samples: check the folder or file that it is read from.")
    classes, counts = np.unique(labels, return_counts=True)
    kept: list[NDArray[np.int64]] = []
    for label, n in zip(classes.tolist(), long_tail_counts(counts.tolist(), imbalance_ratio), strict=True):
        members = np.flatnonzero(labels == label)
        kept.append(members[permutation(len(members), seed, _SPLIT_STREAM, label)][:n])
    if groups is not None:
        rows = np.sort(np.concatenate(kept))
        if len(np.unique(groups[rows])) < len(rows):
            fractions = (TRAIN_FRACTION, VAL_FRACTION, 1 - TRAIN_FRACTION - VAL_FRACTION)
            part_of = divide_groups(labels[rows], groups[rows], fractions, seed)
            return Split(*(rows[part_of == part] for part in range(3)))
    parts: tuple[list[NDArray[np.int64]], ...] = ([], [], [])
    for of_class in kept:
        n = len(of_class)
        n_train, n_val = select_count(n, TRAIN_FRACTION), select_count(n, VAL_FRACTION)
        for part, chosen in zip(parts, np.split(of_class, [n_train, n_train + n_val]), strict=True):
            part.append(chosen)
    train, val, test = (np.sort(np.concatenate(part)) for part in parts)
    return Split(train, val, test)


def check_whole_groups(split: Split, groups: NDArray[np.int64]) -> None:
    """Refuse a split that puts samples of one group into two parts."""
    for (name, part), (other_name, other) in combinations(split.items(), 2):
        n = len(np.intersect1d(groups[part], groups[other]))
        if n:
            raise InputError(
                f"`split_file` has samples of {n:,} groups both in the {name} and in the {other_name} part: make it "
                "again with `pauc data --export` and the same groups, or leave the groups out."
            )


def check_both_kinds(
    split: Split, targets: NDArray[np.int64], groups: NDArray[np.int64] | None = None
) -> None:
    """Refuse a split with a part that has no positives or no negatives, where the partial AUC is undefined."""
    for name, part in split.items():
        n_pos = int(targets[part].sum())
        for kind, n in (("positives", n_pos), ("negatives", len(part) - n_pos)):
            if n == 0 and groups is not None:
                everything = np.concatenate([members for _, members in split.items()])
                chosen = everything[targets[everything] == (kind == "positives")]
                n_groups = len(np.unique(groups[chosen]))
                raise InputError(
                    f"the {name} part has no {kind} (of {len(part)} samples), because all {len(chosen):,} {kind} are "
                    f"in {n_groups} groups that must not be divided: use a finer `group_column`, leave it out (of "
                    "equal rows: `duplicates: ignore`), or add groups."
                )
            if n == 0:
                raise InputError(
                    f"the {name} part has no {kind} (of {len(part)} samples): raise `imbalance_ratio` "
                    "towards 1 (or set it to null), choose `positive_classes` (of a table: `positive_values`) with "
                    "more samples, or add samples."
                )


def _brief(classes: Sequence[int | str]) -> str:
    first, n = classes[0], len(classes)
    if isinstance(first, int) and n > 3 and list(classes) == list(range(first, first + n)):
        return f"classes {first} to {first + n - 1}"
    return f"classes {list(classes[:20])}" + (f" and {n - 20} more" if n > 20 else "")
