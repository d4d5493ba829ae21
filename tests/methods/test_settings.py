"""Every setting of a method is refused under its own name, before anything is built or trained."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import LightningDataModule
from methods.training import digits, fit, small_net
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from pauc_lightning import InputError
from pauc_lightning.methods import (
    AGDSBCD,
    AUCM,
    CE,
    MB,
    PAUCI,
    SOPA,
    SOPAS,
    UPAUCI,
    AUCExp,
    AUCPoly,
    HardCE,
    PartialAUC,
    PartialAUCModule,
)

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        *[
            (CE, {name: value})
            for name in ("learning_rate", "weight_decay")
            for value in (-1, NAN, INF, "0.1", True)
        ],
        *[(CE, {"momentum": value}) for value in (-0.1, 1.1, NAN)],
        *[(CE, {"warmup_epochs": value}) for value in (-1, 1.5, NAN, True)],
        *[(CE, {"prior": value}) for value in (3, 0, 1, NAN, -0.5)],
        *[(CE, {"train_size": value}) for value in (0, 2.5)],
        *[(CE, {"gradient_clip_norm": value}) for value in (NAN, INF, 0)],
        (CE, {"input_shape": (0, 8)}),
        (CE, {"input_shape": 8}),
        (CE, {"regions": [0.3]}),
        (CE, {"regions": "auc"}),
        (CE, {"learning_rate": 10**400}),
        (CE, {"schedule": "linear"}),
        *[(CE, {"train_max_fpr": value}) for value in (0, 1.5, NAN, "0.3")],
        *[(CE, {"train_min_tpr": value}) for value in (-0.1, 1)],
        (CE, {"score": "probability"}),
        *[(CE, {"temperature": value}) for value in (0, -1, NAN, "cold")],
        *[(CE, {"ce_weight": value}) for value in (-0.1, 1.1, NAN)],
        *[(CE, {"optimizer": value}) for value in ("Adamw", 3, None)],
        *[(PAUCI, {"relative_step": value}) for value in (0, NAN)],
        (PAUCI, {"descent_lr": "automatic"}),
        (CE, {"backbone": "ResNet18"}),
        (CE, {"backbone": torch.nn.Linear}),
        *[
            (PAUCI, {name: value})
            for name in ("descent_lr", "variable_lr", "ascent_lr", "iota_descent", "iota_ascent", "k", "m")
            for value in (-1, NAN, INF)
        ],
        (PAUCI, {"k": 0}),
        (PAUCI, {"closed_form_start": "false"}),
        (PAUCI, {"kappa": NAN}),
        (PAUCI, {"constraint": "none"}),
        (UPAUCI, {"omega": INF}),
        (UPAUCI, {"c_step": 0}),
        (UPAUCI, {"weights": "best"}),
        (AUCM, {"closed_form_start": 1}),
        (MB, {"surrogate": "hinge"}),
        *[(SOPA, {name: -1}) for name in ("threshold_lr", "outer_threshold_lr", "dual_lr")],
        *[(SOPAS, {name: NAN}) for name in ("lambda_", "tau", "u_rate", "w_rate", "gradient_rate")],
        *[(AGDSBCD, {name: value}) for name in ("inner_lr", "mu", "gamma") for value in (0, -1, NAN, INF)],
        *[(AGDSBCD, {"first_loop": value}) for value in (0, 1.5)],
        (AGDSBCD, {"threshold_lr": -1}),
        *[(method, {"gamma": value}) for method in (AUCPoly, AUCExp) for value in (0, NAN)],
        (AUCPoly, {"unweighted_epochs": 2.5}),
        *[(method, {"memory": value}) for method in (HardCE, PartialAUC) for value in (0, NAN)],
        (PartialAUC, {"surrogate": "cubic"}),
        (PartialAUC, {"score": "probability"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else str(value)[:50],
)
def test_a_wrong_value_is_named(method: type[PartialAUCModule], settings: dict[str, Any]) -> None:
    ((name, value),) = settings.items()
    received = "the class Linear" if isinstance(value, type) else "0" if value == (0, 8) else repr(value)
    with pytest.raises(InputError) as refused:
        method(**{"backbone": small_net(), "train_size": 10, **settings})
    assert str(refused.value).startswith(f"`{name}` must be ")
    assert f", got {received}" in str(refused.value)


def test_a_warm_up_that_leaves_nothing_is_refused(tmp_path: Path) -> None:
    module = UPAUCI(backbone=small_net(), warmup_epochs=3)
    for max_epochs in (2, 3):
        with pytest.raises(
            InputError,
            match=rf"`warmup_epochs=3` leaves nothing of `trainer.max_epochs={max_epochs}` for UPAUCI",
        ):
            fit(module, tmp_path, max_epochs=max_epochs)
    length = len(digits().batch_sampler())
    with pytest.raises(
        InputError,
        match=rf"`warmup_epochs=3` are {3 * length} steps .* `trainer.max_steps={3 * length}` for UPAUCI",
    ):
        fit(module, tmp_path, max_steps=3 * length)
    assert torch.equal(module.backbone.get_parameter("1.weight"), small_net().get_parameter("1.weight"))
    assert not list(tmp_path.iterdir())

    fit(UPAUCI(backbone=small_net(), warmup_epochs=1), tmp_path, max_steps=length + 1, limit_val_batches=0)
    fit(CE(backbone=small_net(), warmup_epochs=3), tmp_path, max_epochs=1)  # the warm-up is the method
    fit(module, tmp_path, fast_dev_run=True, callbacks=[])


class Endless(IterableDataset[tuple[Tensor, Tensor]]):
    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        generator = torch.Generator().manual_seed(0)
        while True:
            yield torch.randn(1, 8, 8, generator=generator), torch.tensor(int(torch.rand(()) < 0.5))


class EndlessData(LightningDataModule):
    def train_dataloader(self) -> DataLoader[Any]:
        return DataLoader(Endless(), batch_size=4)


def test_a_schedule_without_an_end_is_refused_before_the_first_step(tmp_path: Path) -> None:
    for warmup_epochs, limits in (
        (1, {"max_epochs": 2}),
        (0, {"max_epochs": -1}),
        (1, {"max_epochs": -1, "max_steps": 20}),
    ):
        module = PAUCI(backbone=small_net(), schedule="cosine", warmup_epochs=warmup_epochs)
        with pytest.raises(
            InputError, match=r'needs to know when training ends.*or choose `schedule="constant"`'
        ):
            fit(module, tmp_path, EndlessData(), **limits)
        assert torch.equal(module.backbone.get_parameter("1.weight"), small_net().get_parameter("1.weight"))
    module = PAUCI(backbone=small_net(), schedule="cosine", warmup_epochs=0)
    fit(module, tmp_path, EndlessData(), max_epochs=-1, max_steps=2)
