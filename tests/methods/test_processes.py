"""Two processes equal one on the union batch, for every method whose step is deterministic."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from ddp import run_on_ranks
from methods.training import TWICE, digits, methods_besides, small_net, trainer
from torch import Tensor

from pauc_lightning import methods
from pauc_lightning.methods import PartialAUCModule

SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "ce": ("CE", {}),
    "pauci-one-way": ("PAUCI", {"max_fpr": 0.3}),
    "pauci-two-way": ("PAUCI", {"max_fpr": 0.3, "min_tpr": 0.5, "constraint": "lagrangian"}),
    "upauci-one-way": ("UPAUCI", {"max_fpr": 0.3}),
    "upauci-two-way": ("UPAUCI", {"max_fpr": 0.3, "min_tpr": 0.5}),
    "upauci-two-way-twice": ("UPAUCI", {"max_fpr": 0.3, "min_tpr": 0.5, **TWICE}),
    "upauci-ascent-one-way": ("UPAUCI", {"max_fpr": 0.3, "weights": "ascent"}),
    "upauci-ascent-two-way": ("UPAUCI", {"max_fpr": 0.3, "min_tpr": 0.5, "weights": "ascent"}),
    "upauci-all-options": (
        "UPAUCI",
        {
            **{
                "max_fpr": 0.3,
                "min_tpr": 0.5,
                "train_max_fpr": 0.6,
                "train_min_tpr": 0.2,
                "descent_lr": "auto",
            },
            **{"temperature": "auto", "ce_weight": 0.3, "optimizer": "AdamW", **TWICE},
        },
    ),
    "auc-m": ("AUCM", {}),
    "mb-mixture": (
        "MB",
        {"ce_weight": 0.5, "temperature": "auto", "optimizer": "AdamW", "learning_rate": 0.01},
    ),
    "mb-two-way": ("MB", {"max_fpr": 0.3, "min_tpr": 0.5}),
    "sopa-one-way": ("SOPA", {"max_fpr": 0.3}),
    "sopa-two-way": ("SOPA", {"max_fpr": 0.3, "min_tpr": 0.5}),
    "sopa-s-one-way": ("SOPAS", {"lambda_": 0.1}),
    "sopa-s-two-way": ("SOPAS", {"lambda_": 0.1, "tau": 0.3, "min_tpr": 0.5}),
    "agd-sbcd": ("AGDSBCD", {"max_fpr": 0.3, "inner_lr": 0.5, "first_loop": 4}),
    "partial-auc-one-way": ("PartialAUC", {"max_fpr": 0.3}),
    "partial-auc-two-way": ("PartialAUC", {"max_fpr": 0.3, "min_tpr": 0.5, "surrogate": "squared_hinge"}),
    "hard-ce-two-way": ("HardCE", {"max_fpr": 0.3, "min_tpr": 0.5}),
    "auc-poly-two-way": ("AUCPoly", {"unweighted_epochs": 1, "min_tpr": 0.5}),
}
SETTINGS |= {name: (name, {}) for name in methods_besides(method for method, _ in SETTINGS.values())}
STEPS = 16  # six batches of warm-up, ten of the method


def train(name: str, batch_size: int, steps: int = STEPS, **settings: Any) -> PartialAUCModule:
    data = digits(batch_size=batch_size, eval_batch_size=50)
    method, arguments = SETTINGS[name]
    if method in ("PAUCI", "UPAUCI"):
        arguments = {"descent_lr": 0.5, "ascent_lr": 0.5, **arguments}  # large enough for ten steps to matter
    module: PartialAUCModule = getattr(methods, method)(
        backbone=small_net(),
        warmup_epochs=1,
        train_size=data.train_size,
        **{"learning_rate": 0.1, **arguments},
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer(Path(folder), max_steps=steps, precision="64-true", callbacks=[], **settings).fit(
            module, datamodule=data
        )
    return module


def state(module: PartialAUCModule) -> dict[str, Tensor]:
    return {key: value.clone() for key, value in module.state_dict().items() if value.is_floating_point()}


def train_on_rank(rank: int) -> dict[str, dict[str, Tensor]]:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", TORCHELASTIC_RUN_ID="test")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29500", GROUP_RANK="0", LOCAL_WORLD_SIZE="2")
    results = {}
    for name in SETTINGS:
        module = train(name, batch_size=64, devices=2, strategy="ddp")
        results[name] = state(module)
        results[name]["val/pauc"] = module.trainer.callback_metrics["val/pauc"]
    return results


@pytest.fixture(scope="module")
def two_processes() -> list[dict[str, dict[str, Tensor]]]:
    return run_on_ranks(train_on_rank, 2)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_two_processes_equal_one(name: str, two_processes: list[dict[str, dict[str, Tensor]]]) -> None:
    module = train(name, batch_size=128)
    alone = state(module)
    first, second = (rank[name] for rank in two_processes)
    for key, value in alone.items():
        torch.testing.assert_close(first[key], second[key], rtol=0, atol=0, msg=f"ranks differ in {key}")
        torch.testing.assert_close(
            first[key], value, rtol=1e-6, atol=1e-7, msg=f"{key} differs from one process"
        )
    assert float(first["val/pauc"]) == pytest.approx(
        float(module.trainer.callback_metrics["val/pauc"]), abs=1e-6
    )


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("upauci-ascent-two-way", ["a", "b", "gamma", "s_neg", "c"]),
        ("auc-m", ["a", "b", "alpha"]),
        ("sopa-two-way", ["s", "y", "s_outer"]),
        ("sopa-s-two-way", ["log_u", "log_w"]),
        ("agd-sbcd", ["lambda_", "lambda_mean"]),
        ("partial-auc-two-way", ["selection.at_max_fpr.value", "selection.at_min_tpr.scale"]),
        ("hard-ce-two-way", ["selection.at_max_fpr.scale", "selection.at_min_tpr.value"]),
    ],
)
def test_the_ten_steps_move_everything(name: str, keys: list[str]) -> None:
    # Otherwise the equality above would hold for the wrong reason.
    early, late = (state(train(name, 128, steps=steps)) for steps in (7, STEPS))
    for key in ("backbone.1.weight", *(f"objective.{key}" for key in keys)):
        moved = (late[key] - early[key]).nan_to_num()  # -inf - -inf, never visited
        assert float(moved.abs().max()) > 1e-4, key
