"""What a run trains, in the words by which dashboards group runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jsonargparse import Namespace
from lightning.pytorch import LightningDataModule

from pauc_lightning.methods import PartialAUCModule


@dataclass(frozen=True)
class Labels:
    """Data set, method, region, backbone and seed of a run.

    Args:
        data: Name of the data's config, or of the class if there is no config in a folder ``data``.
        method: Name of the method's config, or of the class if there is no config in a folder ``method``.
        region: The optimised region, such as ``opauc_fpr0.3``.
        backbone: Name of the network's class.
        seed: The seed of the run; None if there is none.
    """

    data: str
    method: str
    region: str
    backbone: str
    seed: int | None

    @classmethod
    def of(cls, config: Namespace, model: PartialAUCModule, data: LightningDataModule) -> Labels:
        """The labels of a command.

        Args:
            config: Its settings.
            model: The method.
            data: Its data.
        """
        files = [Path(str(path)) for path in config.get("config") or []]
        seed = config.get("seed_everything")
        return cls(
            data=_stem(files, "data") or type(data).__name__,
            method=_stem(files, "method") or type(model).__name__,
            region=model.region.name,
            backbone=type(model.backbone).__name__,
            seed=seed if isinstance(seed, int) and not isinstance(seed, bool) else None,
        )

    @property
    def group(self) -> str:
        """The group of runs that differ in the seed only."""
        return f"{self.data}/{self.method}/{self.region}"

    def as_dict(self) -> dict[str, Any]:
        """The labels by name."""
        return asdict(self)


def _stem(files: list[Path], folder: str) -> str:
    """The name of the last file in a folder of that name; empty if there is none."""
    return next((file.stem for file in reversed(files) if file.parent.name == folder), "")
