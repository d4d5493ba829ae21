"""Many commands in one process: they share the data, and leave the garbage collector as it was."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from typing import Any

import torch

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


def test_what_a_command_leaves_in_cycles_is_freed_at_its_end() -> None:
    """As a run's data and trainer are: the collector would wait for many objects, however large these are."""
    left: list[weakref.ref[Any]] = []

    class Run:
        def __init__(self) -> None:
            self.data, self.trainer = torch.zeros(1000), self

    def command(arguments: Sequence[str]) -> None:
        run = Run()
        left.append(weakref.ref(run))

    runs = InnerRuns(command)
    for _ in range(3):
        runs([])
        assert left[-1]() is None
    run = Run()
    kept = weakref.ref(run)
    del run
    assert kept() is not None  # without a command nobody collects it so soon


def test_the_heap_is_frozen_once_and_thawed() -> None:
    before = gc.get_freeze_count()
    heap = FrozenHeap()
    assert gc.get_freeze_count() == before
    heap.collect()
    frozen = gc.get_freeze_count()
    assert frozen > before + 1000
    kept = [[number] for number in range(1000)]
    heap.collect()
    assert gc.get_freeze_count() <= frozen
    del heap
    assert gc.get_freeze_count() == 0
    assert len(kept) == 1000
