"""The features that are computed so far, on disk, so that a command that was killed can go on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.files import complete_binary_file, write_text

_JOB = "job.txt"


class Parts:
    """A folder with the features of consecutive images, a file for each part.

    Args:
        folder: The folder; it exists only while the work is unfinished.
        job: Says what is computed. Parts of another job are thrown away.
    """

    def __init__(self, folder: Path, job: str) -> None:
        self.folder = folder
        if not (folder / _JOB).is_file() or (folder / _JOB).read_text(encoding="utf-8") != job:
            self.remove()
            write_text(folder / _JOB, job)
        self.n_done = self._count()

    def add(self, features: NDArray[np.float32]) -> None:
        """Write the next part."""
        with complete_binary_file(self._path(self.n_done)) as file:
            np.save(file, features, allow_pickle=False)
        self.n_done += 1

    def __iter__(self) -> Iterator[NDArray[np.float32]]:
        """The parts in order."""
        for i in range(self.n_done):
            yield np.load(self._path(i), allow_pickle=False)

    def remove(self) -> None:
        """Delete the folder."""
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def _count(self) -> int:
        """How many parts there are; a file is complete if it is there."""
        n = 0
        while self._path(n).is_file():
            n += 1
        return n

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.npy"
