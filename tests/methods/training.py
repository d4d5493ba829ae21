"""A small training set-up that the tests of the methods share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningDataModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn

from pauc_lightning import methods
from pauc_lightning.data import DigitsLT
from pauc_lightning.methods import PartialAUCModule

TWICE: dict[str, Any] = {"iota_descent": 0.5, "iota_ascent": 0.5}
"""Settings of PAUCI and UPAUCI under which ASGDA's estimators remember, so that each step evaluates twice."""


def small_net(seed: int = 0, **layers: nn.Module) -> nn.Sequential:
    """An 8x8 image scorer with fixed initial weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), *layers.values(), nn.Linear(16, 1))


def trainer(folder: Path, **settings: Any) -> Trainer:
    """A quiet Trainer on the CPU that keeps its last checkpoint."""
    defaults: dict[str, Any] = {
        "accelerator": "cpu",
        "devices": 1,
        "logger": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "use_distributed_sampler": False,
        "num_sanity_val_steps": 0,
        "log_every_n_steps": 1,
        "default_root_dir": folder,
        "callbacks": [ModelCheckpoint(folder, save_last=True, every_n_train_steps=1, save_top_k=0)],
    }
    return Trainer(**{**defaults, **settings})


def fit(
    module: PartialAUCModule, folder: Path, data: LightningDataModule | None = None, **settings: Any
) -> None:
    """Train on the digits, or on other data."""
    trainer(folder, **settings).fit(module, datamodule=digits() if data is None else data)


def digits(**settings: Any) -> DigitsLT:
    """The digits, in batches of 64."""
    return DigitsLT(**{"batch_size": 64, **settings})


def methods_besides(listed: Iterable[str]) -> list[str]:
    """The exported methods that a test does not list with settings of their own, so that a new one takes part."""
    return sorted(set(methods.__all__) - {"PartialAUCModule", *listed})
