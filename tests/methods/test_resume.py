"""A run that is killed and resumed ends where the uninterrupted one does, bit by bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from methods.training import TWICE, digits, methods_besides, small_net, trainer
from torch import Tensor, nn

from pauc_lightning import methods
from pauc_lightning.methods import PartialAUCModule


class Killed(Exception):
    """Stands for a machine that goes away."""


class KillAt(Callback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step == self.step:
            trainer.save_checkpoint(Path(trainer.default_root_dir) / "killed.ckpt")
            raise Killed


def build(method: type[PartialAUCModule], data: Any, **settings: Any) -> PartialAUCModule:
    net = small_net(norm=nn.BatchNorm1d(16), dropout=nn.Dropout(0.2))
    return method(
        backbone=net,
        warmup_epochs=1,
        train_size=data.train_size,
        prior=data.prior,
        learning_rate=0.1,
        **settings,
    )


def final_state(module: PartialAUCModule) -> dict[str, Tensor]:
    return {key: value.clone() for key, value in module.state_dict().items()}


# Epochs have ten steps and end at 10 and 20: the first is the warm-up, the third the first in which AUC-poly weighs.
SETTINGS: dict[str, tuple[str, dict[str, Any], list[int]]] = {
    "ce": ("CE", {}, [4, 10, 11, 16, 20, 22]),
    "ce-cosine": ("CE", {"schedule": "cosine"}, [4, 16]),
    "upauci-cosine": ("UPAUCI", {"schedule": "cosine"}, [4, 16]),
    "pauci": ("PAUCI", {"min_tpr": 0.5, "schedule": "constant"}, [4, 10, 11, 16, 20, 22]),
    "pauci-twice": ("PAUCI", TWICE, [11, 22]),
    "upauci-ascent": ("UPAUCI", {"weights": "ascent", "min_tpr": 0.5}, [4, 10, 11, 16, 20, 22]),
    "upauci": ("UPAUCI", {"schedule": "constant"}, [4, 11, 16, 22]),
    "upauci-all-options": (
        "UPAUCI",
        {
            "temperature": "auto",
            "ce_weight": 0.3,
            "train_max_fpr": 0.6,
            "optimizer": "AdamW",
            "weights": "ascent",
        },
        [4, 10, 11, 12, 22],
    ),
    "mb-adamw": ("MB", {"optimizer": "AdamW", "schedule": "cosine", "temperature": "auto"}, [4, 12]),
    "auc-m": ("AUCM", {}, [10, 11, 22]),
    "mb": ("MB", {}, [22]),
    "sopa": ("SOPA", {"min_tpr": 0.5}, [11, 22]),
    "sopa-s": ("SOPAS", {"min_tpr": 0.5}, [11, 22]),
    "agd-sbcd": ("AGDSBCD", {"first_loop": 4}, [10, 12, 22]),
    "partial-auc": ("PartialAUC", {"min_tpr": 0.5, "surrogate": "exponential"}, [4, 11, 22]),
    "hard-ce": ("HardCE", {}, [11, 22]),
    "auc-poly": ("AUCPoly", {"min_tpr": 0.5, "unweighted_epochs": 1}, [16, 20, 22]),
}
SETTINGS |= {
    name: (name, {}, [11, 22]) for name in methods_besides(method for method, *_ in SETTINGS.values())
}


@pytest.mark.parametrize(
    ("method", "settings", "step"),
    [
        pytest.param(getattr(methods, method), settings, step, id=f"{name}-killed-at-{step}")
        for name, (method, settings, steps) in SETTINGS.items()
        for step in steps
    ],
)
def test_resumed_run_is_bit_identical(
    method: type[PartialAUCModule], settings: dict[str, Any], step: int, tmp_path: Path
) -> None:
    epochs = 3
    data = digits()
    assert step < epochs * len(data.batch_sampler())
    torch.manual_seed(1)
    whole = build(method, data, **settings)
    trainer(tmp_path, max_epochs=epochs, callbacks=[], enable_checkpointing=False).fit(whole, datamodule=data)

    torch.manual_seed(2)
    victim = build(method, data, **settings)
    with pytest.raises(Killed):
        trainer(tmp_path, max_epochs=epochs, callbacks=[KillAt(step)]).fit(victim, datamodule=digits())

    torch.manual_seed(3)
    resumed = build(method, data, **settings)
    trainer(tmp_path, max_epochs=epochs, callbacks=[], enable_checkpointing=False).fit(
        resumed, datamodule=digits(), ckpt_path=tmp_path / "killed.ckpt"
    )
    expected, got = final_state(whole), final_state(resumed)
    assert expected.keys() == got.keys()
    for key, value in expected.items():
        assert torch.equal(value, got[key]), key
    assert resumed.trainer.global_step == whole.trainer.global_step
