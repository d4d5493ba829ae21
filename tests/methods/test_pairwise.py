"""What the methods with state per training sample ask of their user."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from lightning.pytorch import LightningDataModule
from methods.training import trainer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from pauc_lightning import InputError
from pauc_lightning.methods import AGDSBCD, SOPA, SOPAS, PartialAUCModule

STATEFUL = [AGDSBCD, SOPA, SOPAS]


class WithoutIndex(LightningDataModule):
    def train_dataloader(self) -> DataLoader[tuple[Tensor, ...]]:
        return DataLoader(TensorDataset(torch.zeros(4, 1), torch.tensor([1, 0, 1, 0])), batch_size=4)


@pytest.mark.parametrize("method", STATEFUL)
def test_the_size_of_the_training_set_must_be_known(method: type[PartialAUCModule]) -> None:
    message = (
        r"`train_size` must be the number of training samples, got None: this loss keeps a number for each"
    )
    with pytest.raises(InputError, match=message):
        method(backbone=nn.Linear(1, 1))


@pytest.mark.parametrize("method", STATEFUL)
def test_samples_must_be_told_apart(method: type[PartialAUCModule], tmp_path: Path) -> None:
    module = method(backbone=nn.Linear(1, 1), train_size=4, warmup_epochs=0)
    with pytest.raises(InputError, match=r"return \(input, label, index\)"):
        trainer(tmp_path, max_epochs=1).fit(module, datamodule=WithoutIndex())
