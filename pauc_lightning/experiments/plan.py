"""The plan of a comparison: which cells it has, and the settings that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pauc_lightning.experiments.cells import Cell, Run, Task, WarmUp
from pauc_lightning.experiments.variant import Variant
from pauc_lightning.region import Region


@dataclass(frozen=True)
class Experiment:
    """A config file with a ``compare:`` section.

    Args:
        path: The file.
        common: Its other sections, which go to every run.
    """

    path: Path
    common: Mapping[str, Any]


@dataclass(frozen=True)
class Tuning:
    """The budget of the searches before a comparison, the same for every method.

    Args:
        trials: Number of trials of each method; None for no limit.
        seconds: Time for one search; None for no limit.
    """

    trials: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Plan:
    """A comparison: every method on every data set with every backbone, for every region and with every seed.

    Args:
        configs: Config files for every run, as for ``pauc fit``; the experiment's is among them.
        methods: The methods by label.
        regions: The regions to train for and test in.
        seeds: Each method is trained once per region and seed.
        warmup_epochs: Epochs of the common warm-up; 0 means none.
        epochs: Epochs of each method after the warm-up; one that starts from its initial weights trains for both.
        baseline: The method to which the others are compared.
        train_part: Whether to evaluate the models on the training part, too.
        out: The directory of all runs.
        extra: Options for every ``pauc fit``.
        data: The data sets by label; empty if ``configs`` and ``extra`` name the only one.
        backbones: The backbones by label; empty if ``configs`` and ``extra`` name the only one.
        warm_up: Settings of the warm-ups.
        experiment: The file that describes the comparison, if there is one.
        threads: Threads of one training; other numbers give other last bits.
        executor: The kind of executor.
        processes: The number of trainings at a time.
        tuning: Search the settings of every method on the validation part first; None compares them as configured.
        executor_options: Options of the executor.
        best_of: Further rows of the tables, with the methods of which each shows, on every split, the one that is best
            on the validation part. They train nothing. The baseline may be one of them.
    """

    configs: tuple[str, ...]
    methods: Mapping[str, Variant]
    regions: tuple[Region, ...]
    seeds: tuple[int, ...]
    warmup_epochs: int
    epochs: int
    baseline: str
    train_part: bool
    out: Path
    extra: tuple[str, ...]
    data: Mapping[str, Variant] = field(default_factory=dict)
    backbones: Mapping[str, Variant] = field(default_factory=dict)
    warm_up: Variant = field(default_factory=Variant)
    experiment: Experiment | None = None
    threads: int = 1
    executor: str = "process"
    processes: int = 1
    tuning: Tuning | None = None
    executor_options: Mapping[str, Any] = field(default_factory=dict)
    best_of: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def tasks(self) -> list[Task]:
        """Every data set with every backbone; one nameless task if there are no such axes."""
        return [Task(data, backbone) for data in self.data or [""] for backbone in self.backbones or [""]]

    @property
    def runs(self) -> list[Run]:
        """All runs, grouped by task and seed."""
        return [
            Run(method, region, seed, task)
            for task in self.tasks
            for seed in self.seeds
            for region in self.regions
            for method in self.methods
        ]

    @property
    def labels(self) -> list[str]:
        """The rows of a table: the methods, then the choices among them."""
        return [*self.methods, *self.best_of]

    @property
    def warm_ups(self) -> list[WarmUp]:
        """All warm-ups; none if every method starts from its initial weights."""
        if not any(map(self.has_warm_up, self.methods)):
            return []
        return [WarmUp(seed, task) for task in self.tasks for seed in self.seeds]

    @property
    def methods_from_initial_weights(self) -> tuple[str, ...]:
        """The methods that start from their initial weights although others start from the warm-up's end."""
        return tuple(
            method for method in self.methods if self.warmup_epochs > 0 and not self.has_warm_up(method)
        )

    def has_warm_up(self, method: str) -> bool:
        """Whether a method starts at the end of a warm-up."""
        return self.warmup_epochs > 0 and self.methods[method].start == "warmup"

    def warm_up_of(self, cell: Cell) -> WarmUp | None:
        """The warm-up that a cell starts from; None for initial weights."""
        return cell.warm_up if isinstance(cell, Run) and self.has_warm_up(cell.method) else None

    def epochs_of(self, cell: Cell) -> int:
        """The number of epochs that a cell trains for: without a warm-up, a method has its epochs, too."""
        if isinstance(cell, WarmUp):
            return self.warmup_epochs
        return self.epochs if self.has_warm_up(cell.method) else self.warmup_epochs + self.epochs

    def variants_of(self, cell: Cell) -> tuple[Variant, ...]:
        """The values of the axes that make up a cell; later ones win."""
        own = self.warm_up if isinstance(cell, WarmUp) else self.methods[cell.method]
        return *self.variants_of_task(cell.task), own

    def variants_of_task(self, task: Task) -> tuple[Variant, Variant]:
        """The data set and the backbone of a task."""
        return self.data.get(task.data, Variant()), self.backbones.get(task.backbone, Variant())
