"""Data sets that are read once for many runs of one process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

Read = TypeVar("Read")

_MOST_BYTES = 1 << 30


class KeptSources:
    """Keeps what data modules have read, for the modules that follow within :meth:`in_use`.

    The least recently used data sets are forgotten when all of them together exceed the memory, and one that exceeds
    it alone is never kept.

    Args:
        most_bytes: Memory for all data sets.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Within the block, let data modules of this thread share what they read."""
        token = _in_use.set(self)
        try:
            yield
        finally:
            _in_use.reset(token)

    def get(self, key: Hashable, read: Callable[[], Read], n_bytes: Callable[[Read], int]) -> Read:
        """Return what was read under this key, or read it."""
        if key in self._kept:
            self._kept.move_to_end(key)
            known: Read = self._kept[key][0]
            return known
        result = read()
        size = n_bytes(result)
        if size <= self._most_bytes:
            self._kept[key] = result, size
            while sum(size for _, size in self._kept.values()) > self._most_bytes:
                self._kept.popitem(last=False)
        return result


_in_use: ContextVar[KeptSources | None] = ContextVar("kept_sources", default=None)


def read_once(key: Hashable, read: Callable[[], Read], n_bytes: Callable[[Read], int]) -> tuple[Read, bool]:
    """Read a data set, or take it from the :class:`KeptSources` in use.

    Args:
        key: Everything that decides the result: the settings, and the :func:`file_state` of the files.
        read: Reads the data set.
        n_bytes: Returns the memory that it takes.

    Returns:
        The data set, and whether others may use it as well, so that it must not be changed.
    """
    sources = _in_use.get()
    if sources is None:
        return read(), False
    return sources.get(key, read, n_bytes), True


def file_state(path: Path) -> Hashable:
    """Return a value that changes when the file does: its place, size, number and time of change."""
    try:
        state = path.stat()
    except OSError:
        return str(path.absolute()), None  # reading it will say what is wrong
    return str(path.absolute()), state.st_size, state.st_ino, state.st_mtime_ns
