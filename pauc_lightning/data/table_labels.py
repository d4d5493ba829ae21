"""The label column of a table: its classes and the positive ones among them."""

from __future__ import annotations

import difflib
import math
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from lightning.pytorch.utilities import rank_zero_info
from numpy.typing import NDArray

from pauc_lightning.data.table_reader import few
from pauc_lightning.errors import InputError

if TYPE_CHECKING:
    from pandas import Series  # type: ignore[import-untyped]  # ships no types

Value = str | bool | int | float
"""A value of a table as given in YAML. Text comes first, as the command line takes the first type that fits."""

UNKNOWN = -1
"""The target of a row whose label is unknown."""

_SIMILAR = 0.75  # of two spellings: fraud and fruad have 0.8, cat and car 0.67
_RARE = 0.1  # of the rows of the value that it resembles

_TRUTHS = {True: ("true", "yes", "on", "y", "1"), False: ("false", "no", "off", "n", "0")}


def label_classes(column: Series[Any], name: str, file: str) -> tuple[NDArray[np.int64], list[str]]:
    """The class of every row, and the label's values as text in the order of their classes.

    Args:
        column: The label column.
        name: Its name, for messages.
        file: The file's name, for messages.
    """
    n_missing = int(column.isna().sum())
    if n_missing:
        raise InputError(
            f"the label {name!r} is missing in {n_missing} of {len(column)} rows of {file}: remove these rows or "
            "fill them in."
        )
    rows: list[Value] = column.tolist()
    values = sorted(set(rows), key=lambda value: (isinstance(value, str), value))
    if len(values) == 1:
        raise InputError(
            f"the label {name!r} is {values[0]} in all {len(rows)} rows of {file}, but both positives and negatives "
            "are needed: choose another column as `label`, or add rows."
        )
    classes = {value: i for i, value in enumerate(values)}
    return np.array([classes[value] for value in rows], dtype=np.int64), [str(value) for value in values]


def positive_classes(values: Sequence[str], positive: Sequence[Value] | None, name: str) -> tuple[int, ...]:
    """The classes that the user declared positive.

    YAML reads an unquoted yes, no, on or off as true or false, so true also stands for a label "yes" or "on".

    Args:
        values: The label's values as text, in the order of their classes.
        positive: The values that are positive; None means 1 in a column of 0 and 1.
        name: The label column, for messages.

    Example:
        >>> positive_classes(["no", "yes"], [True], "sick")
        (1,)
    """
    keys = [label_key(value) for value in values]
    if positive is None:
        if keys != [0.0, 1.0]:
            raise InputError(
                f"`positive_values` is needed, because the label {name!r} has other values than 0 and 1: say which of "
                f"{few(values)} are positive, such as --data.positive_values {shlex.quote(values[0])}."
            )
        return (1,)
    if not positive:
        raise InputError(f"`positive_values` is empty: say which of {few(values)} are positive.")
    classes = [_matches(value, values, keys, name) for value in positive]
    unknown = [value for value, found in zip(positive, classes, strict=True) if not found]
    if unknown:
        raise InputError(
            f"`positive_values` has {unknown}, which never occur in the label {name!r}: choose from {few(values)}."
        )
    chosen = tuple(sorted({i for found in classes for i in found}))
    if len(chosen) == len(values):
        raise InputError(
            f"`positive_values={list(positive)}` are all values of the label {name!r}, so there are no negatives: "
            "leave at least one out."
        )
    return chosen


def note_lookalikes(
    labels: NDArray[np.int64], values: Sequence[str], positive: Sequence[int], name: str, file: str
) -> None:
    """Say which values count as negative although they are spelled nearly like a positive one.

    A value that differs in capitals or spaces only is named, and so is a similar one in few rows, without digits: a
    typing mistake is rare, and class_1 is not meant to be class_2.

    Args:
        labels: The class of every row.
        values: The label's values as text, in the order of their classes.
        positive: The positive classes.
        name: The label column, for messages.
        file: The file's name, for messages.
    """
    counts = np.bincount(labels, minlength=len(values))
    found = []
    for i in set(range(len(values))) - set(positive):
        for j in positive:
            one, other = (values[k].strip().lower() for k in (i, j))
            is_similar = difflib.SequenceMatcher(None, one, other).ratio() >= _SIMILAR
            has_digits = any(character.isdigit() for character in one + other)
            if one == other or (is_similar and not has_digits and counts[i] <= _RARE * counts[j]):
                found.append(f"{values[i]!r} in {counts[i]} (like {values[j]!r})")
    if found:
        rank_zero_info(
            f"Of {len(labels)} rows of {file}, the label {name!r} is {few(sorted(found))}: they count as negative. "
            "Correct them, or name them in `positive_values` as well."
        )


def _matches(given: Value, values: Sequence[str], keys: Sequence[float | str], name: str) -> list[int]:
    """The classes that match one given value."""
    exact = [i for i, key in enumerate(keys) if key == label_key(given)]
    if exact or not isinstance(given, bool):
        return exact
    alike = [i for i, value in enumerate(values) if value.strip().lower() in _TRUTHS[given]]
    if len(alike) > 1:
        raise InputError(
            f"`positive_values` has {str(given).lower()}, which YAML also reads from yes, no, on or off, and the "
            f"label {name!r} has {few([values[i] for i in alike])}: put the value that you mean in quotes."
        )
    return alike


def known_targets(
    column: Series[Any], values: Sequence[str], positive: Sequence[str], file: str
) -> NDArray[np.int64]:
    """1 for a positive, 0 for a negative, :data:`UNKNOWN` where the label is missing or did not occur in training.

    Args:
        column: The label column of a file that the model was not trained on.
        values: The label's values in training, as text.
        positive: The positive ones among them.
        file: The file's name, for messages.
    """
    targets = {label_key(value): int(value in positive) for value in values}
    is_missing = column.isna().to_numpy()
    found = [targets.get(label_key(value), UNKNOWN) for value in column.tolist()]
    result = np.where(is_missing, UNKNOWN, np.array(found, dtype=np.int64))
    new = sorted({str(value) for value in column[(result == UNKNOWN) & ~is_missing].tolist()})
    if new:
        rank_zero_info(
            f"{file}: the label {str(column.name)!r} has values that did not occur in training ({few(new)}); the "
            "predictions of these rows have no label."
        )
    return result


def label_key(value: Value) -> float | str:
    """The key by which labels are compared: numbers are equal however they are written, and true is 1.

    Example:
        >>> [label_key(value) for value in (1, "1.0", True, "true", " yes")]
        [1.0, 1.0, 1.0, 1.0, 'yes']
    """
    text = str(value).strip()
    text = {"true": "1", "false": "0"}.get(text.lower(), text)
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text
