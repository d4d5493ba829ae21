"""Values logged the short way reach loggers, callbacks and progress bars as those logged by Lightning do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.loggers import CSVLogger
from methods.training import digits, fit, small_net

from pauc_lightning.methods import UPAUCI, log_values


class Seen(Callback):
    """Notes what callbacks, progress bars and loggers are given after each batch and each validation."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def _note(self, trainer: Trainer) -> None:
        for values in (trainer.callback_metrics, trainer.progress_bar_metrics, trainer.logged_metrics):
            self.values.append({key: float(value) for key, value in values.items()})

    def on_train_batch_end(self, trainer: Trainer, *args: Any) -> None:
        self._note(trainer)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._note(trainer)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._note(trainer)


def train(folder: Path, **settings: Any) -> tuple[str, Seen]:
    seen = Seen()
    data = digits()
    module = UPAUCI(backbone=small_net(), warmup_epochs=1, prior=data.prior, train_size=data.train_size)
    logger = CSVLogger(folder, name="", version="")
    fit(module, folder, logger=logger, callbacks=[seen], max_epochs=4, log_every_n_steps=3, **settings)
    return (folder / "metrics.csv").read_text(), seen


@pytest.mark.parametrize("settings", [{}, {"val_check_interval": 0.5}, {"num_sanity_val_steps": 2}])
def test_the_same_as_by_lightning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    short, seen = train(tmp_path / "short", **settings)
    calls: list[str] = []
    log = LightningModule.log

    def counted(self: LightningModule, name: str, *args: Any, **kwargs: Any) -> None:
        calls.append(name)
        log(self, name, *args, **kwargs)

    monkeypatch.setattr(LightningModule, "log", counted)
    train(tmp_path / "counted", **settings)
    assert len(calls) == len(set(calls))  # Lightning logs each value once, in four epochs
    monkeypatch.setattr(log_values, "_log_again", lambda *args: False)
    long, seen_long = train(tmp_path / "long", **settings)
    assert len(calls) > 5 * len(set(calls))
    assert short == long
    assert seen.values == seen_long.values


def test_nothing_is_short_without_a_trainer() -> None:
    module = UPAUCI(backbone=small_net(), warmup_epochs=0)
    with pytest.warns(UserWarning, match="self.trainer"):
        log_values.log_values(module, {"x": torch.tensor(1.0)})
