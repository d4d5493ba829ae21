"""Many commands in one process: they share the data, and leave the garbage collector as it was."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

from pauc_lightning.data import DigitsLT
from pauc_lightning.experiments.frozen_heap import FrozenHeap
from pauc_lightning.experiments.inner_run import InnerRuns


def test_commands_share_their_data() -> None:
    sources: list[Any] = []

    def command(arguments: Sequence[str]) -> None:
        sources.append(DigitsLT(seed=len(sources)).source)

    runs = InnerRuns(command)
    runs([])
    runs([])
    InnerRuns(command)([])
    assert sources[0] is sources[1] is not sources[2]


def test_the_heap_is_frozen_once_and_thawed() -> None:
    before = gc.get_freeze_count()
    heap = FrozenHeap()
    assert gc.get_freeze_count() == before
    heap.freeze()
    frozen = gc.get_freeze_count()
    assert frozen > before + 1000
    kept = [[number] for number in range(1000)]
    heap.freeze()
    assert gc.get_freeze_count() <= frozen
    del heap
    assert gc.get_freeze_count() == 0
    assert len(kept) == 1000
