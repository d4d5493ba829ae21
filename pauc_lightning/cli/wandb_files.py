"""Reads the files in which W&B keeps a run on disk; W&B itself no longer has a reader in Python.

A file is a header of seven bytes and then records as in LevelDB's log: blocks of 32 KiB, in which each piece has a CRC
(4 bytes), a length (2) and a type (1: whole, 2: first, 3: middle, 4: last).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_MAGIC = b":W&B"
_HEADER = 7
_BLOCK = 32768
_PIECE = struct.Struct("<IHB")
_WHOLE, _LAST = 1, 4


@dataclass
class OnDisk:
    """What W&B has of a run.

    Args:
        last_steps: The last training step of each curve.
        rows: The number of rows, after which the next one continues.
    """

    last_steps: dict[str, int] = field(default_factory=dict)
    rows: int = 0


def read_run(directory: Path) -> OnDisk | None:
    """Read what W&B has of a run, from the files that it keeps for it; None if there are none.

    Args:
        directory: The run's directory, which holds the folder ``wandb``.
    """
    files = sorted(directory.glob("wandb/*run-*/*.wandb"))
    if not files:
        return None
    found = OnDisk()
    for path in files:
        for record in records(path):
            if record.WhichOneof("record_type") != "history":
                continue
            row = {(item.nested_key or [item.key])[0]: item.value_json for item in record.history.item}
            found.rows = max(found.rows, int(row["_step"]) + 1)
            if "trainer/global_step" in row:
                found.last_steps |= dict.fromkeys(row, int(float(row["trainer/global_step"])))
    return found


def records(path: Path) -> Iterator[Any]:
    """Yield the records of a file, as far as a kill has left them whole."""
    from wandb.proto import wandb_internal_pb2

    data = path.read_bytes()
    if not data.startswith(_MAGIC):
        return
    position, parts = _HEADER, b""
    while position + _PIECE.size <= len(data):
        left = _BLOCK - position % _BLOCK
        if left < _PIECE.size:  # too short for a piece: the block is filled up
            position += left
            continue
        checksum, length, kind = _PIECE.unpack_from(data, position)
        start = position + _PIECE.size
        position = start + length
        if (
            zlib.crc32(data[start - 1 : position]) != checksum
        ):  # of the type and the content; also of one cut short
            return
        parts += data[start:position]
        if kind in (_WHOLE, _LAST):
            record = wandb_internal_pb2.Record()  # type: ignore[attr-defined, unused-ignore]
            record.ParseFromString(parts)
            parts = b""
            yield record
