"""After each epoch: the partial AUC of the training part, and the optima of the variables for its scores."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import torch
from methods.training import digits, fit, small_net

from pauc_lightning.callbacks import TrainingCurve
from pauc_lightning.errors import InputError
from pauc_lightning.loggers import RunLogger
from pauc_lightning.methods import CE, PAUCI, PartialAUCModule
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.objectives.saddle_point import exact_point, saddle_point


def trained(
    module: PartialAUCModule, folder: Path, *callbacks: TrainingCurve, **settings: Any
) -> list[dict[str, str]]:
    """Train and return the rows of metrics.csv that hold a value of the training part."""
    fit(module, folder, logger=RunLogger(folder), callbacks=list(callbacks), **{"max_epochs": 3, **settings})
    with (folder / "metrics.csv").open() as file:
        return [row for row in csv.DictReader(file) if row.get("train/pauc")]


def test_the_values_are_those_of_the_weights_after_the_epoch(tmp_path: Path) -> None:
    module = PAUCI(backbone=small_net(), max_fpr=0.3, min_tpr=0.5, warmup_epochs=1)
    rows = trained(module, tmp_path, TrainingCurve())
    assert [row["epoch"] for row in rows] == ["0", "1", "2"]
    assert not rows[0]["train/saddle_a"]  # the warm-up has no variables
    data = digits()
    part = data.dataset("train")
    samples = part.__getitems__(range(len(part)))
    with torch.no_grad():
        scores = module.eval()(data.eval_transform(samples.input)).double().sigmoid()
    last = rows[-1]
    pauc = binary_partial_auc(scores, samples.target, 0.3, 0.5)
    assert float(last["train/pauc"]) == pytest.approx(float(pauc), abs=1e-6)
    for kind, point in (
        ("end", module.objective.variables()),
        ("saddle", saddle_point(module.objective, scores, samples.target)),
        ("exact", exact_point(module.objective, scores, samples.target)),
    ):
        for name, value in point.items():
            assert float(last[f"train/{kind}_{name}"]) == pytest.approx(float(value), abs=1e-5), (kind, name)


def test_training_is_the_same_with_it(tmp_path: Path) -> None:
    weights = []
    for name, callbacks in (("with", [TrainingCurve()]), ("without", [])):
        torch.manual_seed(0)
        module = PAUCI(backbone=small_net(dropout=torch.nn.Dropout(0.5)), max_fpr=0.3, warmup_epochs=1)
        trained(module, tmp_path / name, *callbacks)
        weights.append([*module.backbone.parameters(), *module.objective.parameters()])
    assert all(torch.equal(ours, other) for ours, other in zip(*weights, strict=True))


def test_every_second_epoch_and_losses_without_variables(tmp_path: Path) -> None:
    module = CE(backbone=small_net(), max_fpr=0.3)
    rows = trained(module, tmp_path, TrainingCurve(every_n_epochs=2), max_epochs=4)
    assert [row["epoch"] for row in rows] == ["1", "3"]
    assert not [key for key in rows[0] if key.startswith("train/saddle")]
    with pytest.raises(InputError, match="every_n_epochs"):
        TrainingCurve(every_n_epochs=0)
