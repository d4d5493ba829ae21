"""The cells of a comparison: its trainings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pauc_lightning.region import Region


@dataclass(frozen=True)
class WarmUp:
    """The cross-entropy training that all methods of a seed start from.

    Args:
        seed: Decides the split, the initial weights and the batches.
    """

    seed: int

    @property
    def method(self) -> str:
        """The method that trains."""
        return "ce"

    @property
    def kind(self) -> str:
        """Cells of one kind take about equally long; a warm-up is not tested, so it differs from a run of ``ce``."""
        return "warm-up"

    @property
    def name(self) -> str:
        """The name of the cell's directory."""
        return f"warmup-seed{self.seed}"

    @property
    def title(self) -> str:
        """The cell's name in messages."""
        return f"warm-up, seed {self.seed}"


@dataclass(frozen=True)
class Run:
    """One training of a method for a region with a seed.

    Args:
        method: The stem of the method's config file.
        region: The region that it optimises and is tested in.
        seed: Decides the split, the initial weights and the batches.
    """

    method: str
    region: Region
    seed: int

    @property
    def warm_up(self) -> WarmUp:
        """The training that this one starts from, if there are warm-ups."""
        return WarmUp(self.seed)

    @property
    def kind(self) -> str:
        """Cells of one kind take about equally long."""
        return self.method

    @property
    def name(self) -> str:
        """The name of the cell's directory."""
        return f"{self.method}-{self.region.name}-seed{self.seed}"

    @property
    def title(self) -> str:
        """The cell's name in messages."""
        return f"{self.method}, {self.region.title}, seed {self.seed}"


Cell: TypeAlias = WarmUp | Run
