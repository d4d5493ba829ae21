"""Splits as small JSON files, so that others can train and test on exactly the same samples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.data.longtail import Split
from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text

_FORMAT = "pauc-lightning split, version 1"


def fingerprint(labels: NDArray[np.int64], sample_names: Sequence[str] = ()) -> str:
    """A checksum of the classes of all samples in order, and of the samples' names if they have any.

    Example:
        >>> fingerprint(np.array([0, 1])) == fingerprint(np.array([1, 0]))
        False
    """
    digest = hashlib.sha256(np.ascontiguousarray(labels, dtype="<i8").tobytes())
    digest.update("\n".join(sample_names).encode(errors="surrogateescape"))
    return digest.hexdigest()


def parts_fingerprint(source: str, split: Split, targets: NDArray[np.int64]) -> str:
    """A checksum of the parts: which samples each holds, and which of them are positive.

    Args:
        source: The :func:`fingerprint` of the source.
        split: The parts.
        targets: 1 for a positive, 0 for a negative, for every sample of the source.
    """
    digest = hashlib.sha256(source.encode())
    for name, part in split.items():
        digest.update(f"{name} {len(part)}".encode())
        digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        digest.update(np.ascontiguousarray(targets[part], dtype="<i8").tobytes())
    return digest.hexdigest()


def save_split(path: Path, split: Split, source: str, about: Mapping[str, Any]) -> None:
    """Write a split as JSON: for each part, the positions of its samples in the source.

    Args:
        path: The file; its folder is created if necessary.
        split: The split to write.
        source: The :func:`fingerprint` of the source, which is compared when the split is loaded.
        about: The origin of the split, for human readers.
    """
    parts = {name: part.tolist() for name, part in split.items()}
    content = {"format": _FORMAT, "about": dict(about), "source": source, **parts}
    # One line per key: easy to inspect, and version control shows which part changed.
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    write_text(path, f"{{\n{lines}\n}}\n")


def load_split(path: Path, source: str, n: int) -> Split:
    """Read a split written by :func:`save_split`.

    Args:
        path: The file.
        source: The :func:`fingerprint` of the present source.
        n: Its number of samples.
    """
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise InputError(
            f"`split_file={path}` cannot be read: {reason}. Make one with `pauc data --export`."
        ) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InputError(f"`split_file={path}` is not a split: make one with `pauc data --export`.")
    if content.get("source") != source:
        about = content.get("about", "unknown")
        raise InputError(
            f"`split_file={path}` was made for other data ({about}): the classes or names of the "
            "samples, or their order, differ. Use the data set and the version that it was made for."
        )
    parts = [_part(path, content, name) for name in ("train", "val", "test")]
    together = np.concatenate(parts)
    if len(np.unique(together)) != len(together) or together.min() < 0 or together.max() >= n:
        raise InputError(
            f"`split_file={path}` is damaged: the parts overlap or name samples that do not exist."
        )
    return Split(*(np.sort(part) for part in parts))


def _part(path: Path, content: Mapping[str, Any], name: str) -> NDArray[np.int64]:
    """One part of a split file: a list of at least one whole number."""
    values = content.get(name)
    if not isinstance(values, list) or not values or any(type(value) is not int for value in values):
        found = "nothing" if not values else "something else"
        raise InputError(
            f"`split_file={path}` is damaged: its part {name!r} should be a list of positions, but is {found}. "
            "Make it again with `pauc data --export`."
        )
    # Positions beyond int64 must not wrap around to existing ones.
    return np.array(values, dtype=object).clip(-1, 2**62).astype(np.int64)
