"""The cells of a comparison: its trainings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pauc_lightning.region import Region


@dataclass(frozen=True)
class Task:
    """A data set and a backbone; both are empty in a comparison that has only one.

    Args:
        data: The label of the data set.
        backbone: The label of the backbone.

    Example:
        >>> Task("digits", "linear").title, Task().title
        ('digits, linear', '')
    """

    data: str = ""
    backbone: str = ""

    @property
    def folder(self) -> Path:
        """The directory of the task's cells, below that of the comparison."""
        return Path(self.data, self.backbone)

    @property
    def title(self) -> str:
        """The task's name in headings and messages."""
        return ", ".join(part for part in (self.data, self.backbone) if part)

    @property
    def prefix(self) -> str:
        """The beginning of the titles of its cells."""
        return f"{self.title}: " if self.title else ""


@dataclass(frozen=True)
class WarmUp:
    """The cross-entropy training that all methods of a task and a seed start from.

    Args:
        seed: Decides the split, the initial weights and the batches.
        task: The data set and the backbone.
    """

    seed: int
    task: Task = Task()

    @property
    def kind(self) -> tuple[str, Task]:
        """Cells of one kind take about equally long; a warm-up is not tested, so it differs from a run of ``ce``."""
        return "warm-up", self.task

    @property
    def name(self) -> str:
        """The name of the cell's directory."""
        return f"warmup-seed{self.seed}"

    @property
    def folder(self) -> Path:
        """The cell's directory, below that of the comparison."""
        return self.task.folder / self.name

    @property
    def title(self) -> str:
        """The cell's name in messages."""
        return f"{self.task.prefix}warm-up, seed {self.seed}"


@dataclass(frozen=True)
class Run:
    """One training of a method for a region with a seed.

    Args:
        method: The label of the method.
        region: The region that it optimises and is tested in.
        seed: Decides the split, the initial weights and the batches.
        task: The data set and the backbone.
    """

    method: str
    region: Region
    seed: int
    task: Task = Task()

    @property
    def warm_up(self) -> WarmUp:
        """The training of its task and seed that methods start from, if there are warm-ups."""
        return WarmUp(self.seed, self.task)

    @property
    def kind(self) -> tuple[str, Task]:
        """Cells of one kind take about equally long."""
        return self.method, self.task

    @property
    def name(self) -> str:
        """The name of the cell's directory."""
        return f"{self.method}-{self.region.name}-seed{self.seed}"

    @property
    def folder(self) -> Path:
        """The cell's directory, below that of the comparison."""
        return self.task.folder / self.name

    @property
    def title(self) -> str:
        """The cell's name in messages."""
        return f"{self.task.prefix}{self.method}, {self.region.title}, seed {self.seed}"


Cell: TypeAlias = WarmUp | Run
