"""Four samples in one batch, whose training step can be computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningDataModule
from methods.training import trainer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pauc_lightning.methods import PartialAUCModule

SCORES = (0.6, 0.8, 0.2, 0.3)
TARGET = (1, 1, 0, 0)
INDEX = (3, 1, 0, 2)
STATE_SIZE = 5
"""One more than there are samples: its state must stay as it was."""


class FourSamples(LightningDataModule):
    """Logits as inputs, so that a backbone of weight 1 scores them ``SCORES``."""

    def train_dataloader(self) -> DataLoader[tuple[Tensor, ...]]:
        columns = (torch.tensor(SCORES).logit()[:, None], torch.tensor(TARGET), torch.tensor(INDEX))
        return DataLoader(TensorDataset(*columns), batch_size=4)


def train(
    method: type[PartialAUCModule],
    folder: Path,
    max_epochs: int = 1,
    callbacks: Sequence[Callback] = (),
    **settings: Any,
) -> PartialAUCModule:
    """Plain gradient descent with step size 1, one batch per epoch, by default one epoch without warm-up."""
    backbone = nn.Linear(1, 1, bias=False)
    nn.init.ones_(backbone.weight)
    defaults: dict[str, Any] = {
        "warmup_epochs": 0,
        "learning_rate": 1.0,
        "momentum": 0.0,
        "weight_decay": 0.0,
        "train_size": STATE_SIZE,
    }
    module = method(backbone=backbone, **{**defaults, **settings})
    trainer(folder, max_epochs=max_epochs, enable_checkpointing=False, callbacks=[*callbacks]).fit(
        module, datamodule=FourSamples()
    )
    return module


def step_of(module: PartialAUCModule) -> float:
    """How far the weight has gone down."""
    return 1 - module.backbone.get_parameter("weight").item()


def step_along(*slopes: float) -> float:
    """The gradient by the weight, from the loss's derivatives by the four scores."""
    f = torch.tensor(SCORES)
    return float((torch.tensor(slopes) * f * (1 - f) * f.logit()).sum())
