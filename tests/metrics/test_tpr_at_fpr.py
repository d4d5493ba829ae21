"""The recall at a false-positive budget as a metric: against scikit-learn's curve, in batches and in bins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_curve
from torch import Tensor
from torchmetrics import MetricCollection

from pauc_lightning import InputError
from pauc_lightning.metrics import (
    BinaryPartialAUC,
    BinaryPartialAUCInterval,
    BinaryTPRAtFPR,
    BinaryTPRAtFPRInterval,
)
from pauc_lightning.metrics.functional import partial_auc_interval, tpr_at_fpr, tpr_at_fpr_interval


def make_samples(n: int = 500, decimals: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(decimals)
    target = (torch.rand(n, generator=generator) < 0.3).long()
    return torch.sigmoid(torch.randn(n, generator=generator) + target).round(
        decimals=decimals
    ).double(), target


@pytest.mark.parametrize("max_fpr", [0.0, 0.013, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("decimals", [1, 2, 8])
def test_the_recall_is_the_highest_point_of_the_curve_within_the_budget(
    max_fpr: float, decimals: int
) -> None:
    preds, target = make_samples(decimals=decimals)
    metric = BinaryTPRAtFPR(max_fpr)
    for part in torch.tensor_split(target.argsort(stable=True), [1, 100, 400]):  # the first hold one class
        metric.update(preds[part], target[part])
    fpr, tpr, _ = roc_curve(target, preds, drop_intermediate=False)
    assert metric.compute().item() == pytest.approx(tpr[fpr <= max_fpr].max(), abs=1e-12)
    point = metric.operating_point()
    assert point == pytest.approx(tpr_at_fpr(preds, target, max_fpr), nan_ok=True)
    assert point.tpr == metric.compute().item()
    assert point.fpr <= max_fpr


def test_bins_that_hold_one_score_each_lose_nothing() -> None:
    preds, target = make_samples(decimals=2)
    shifted = preds * 0.99 + 0.003  # inside the bins of width 0.01, away from their edges
    for max_fpr in (0.0, 0.05, 0.4, 1.0):
        binned, exact = BinaryTPRAtFPR(max_fpr, thresholds=1000), BinaryTPRAtFPR(max_fpr)
        for metric in (binned, exact):
            metric.update(shifted, target)
        assert binned.compute() == exact.compute()
        one, other = binned.operating_point(), exact.operating_point()
        assert one[1:] == pytest.approx(other[1:], nan_ok=True)
        called = shifted >= one.threshold
        assert called[target == 1].double().mean().item() == one.tpr


def test_a_budget_that_no_threshold_meets() -> None:
    for thresholds in (None, 10):
        metric = BinaryTPRAtFPR(0.0, thresholds)
        metric.update([0.5, 0.5, 0.4], [1, 0, 0])
        assert metric.compute() == 0
        assert metric.operating_point().threshold == math.inf


def test_one_update_serves_the_whole_collection() -> None:
    preds, target = make_samples()
    collection = MetricCollection(
        {"pauc": BinaryPartialAUC(0.1), "tpr": BinaryTPRAtFPR(0.1), "i": BinaryPartialAUCInterval(0.1)}
    )
    for part in (slice(0, 200), slice(200, 500)):
        collection.update(preds[part], target[part])
    assert len(collection.compute_groups) == 1
    found = collection.compute()
    expected = partial_auc_interval(preds, target, 0.1)
    assert found["pauc"] == found["value"] == expected.value
    assert (found["low"], found["high"]) == (expected.low, expected.high)
    assert found["tpr"] == tpr_at_fpr(preds, target, 0.1).tpr


def test_the_interval_of_a_batch_and_of_all() -> None:
    preds, target = make_samples()
    metric = BinaryPartialAUCInterval(0.3, method="bootstrap", n_resamples=200, seed=3, confidence=0.8)
    first = metric(preds[:200], target[:200])
    assert first["low"] < first["value"] < first["high"]
    metric.update(preds[200:], target[200:])
    expected = partial_auc_interval(
        preds, target, 0.3, method="bootstrap", n_resamples=200, seed=3, confidence=0.8
    )
    assert {name: value.item() for name, value in metric.compute().items()} == {
        name: getattr(expected, name) for name in ("value", "low", "high", "standard_error")
    }


def test_the_interval_of_the_recall_is_that_of_all_batches() -> None:
    preds, target = make_samples()
    metric = BinaryTPRAtFPRInterval(0.2, n_resamples=200, seed=3, confidence=0.8)
    for part in (slice(0, 0), slice(0, 200), slice(200, 500)):
        metric.update(preds[part], target[part])
    expected = tpr_at_fpr_interval(preds, target, 0.2, n_resamples=200, seed=3, confidence=0.8)
    assert {name: value.item() for name, value in metric.compute().items()} == {
        name: getattr(expected, name) for name in ("value", "low", "high", "standard_error")
    }


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: BinaryTPRAtFPR(1.5), "`max_fpr`"),
        (lambda: BinaryTPRAtFPR(0.1, thresholds=1), "`thresholds`"),
        (lambda: BinaryPartialAUCInterval(confidence=95), "`confidence`"),
        (lambda: BinaryPartialAUCInterval(seed=-1), "`seed`"),
        (lambda: BinaryTPRAtFPRInterval(0.1, seed=-1), "`seed`"),
        (lambda: BinaryPartialAUCInterval(method="exact"), "`method`"),  # type: ignore[arg-type]
        (lambda: BinaryPartialAUCInterval(n_resamples=1), "`n_resamples`"),
        (lambda: BinaryTPRAtFPRInterval(0.0), "`min_fpr` must be smaller than `max_fpr`"),
        (lambda: BinaryTPRAtFPRInterval(0.1, confidence=95), "`confidence`"),
        (lambda: BinaryTPRAtFPRInterval(0.1, n_resamples=0), "`n_resamples`"),
    ],
)
def test_wrong_arguments_are_refused(make: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make()


@pytest.mark.parametrize("thresholds", [None, 10])
def test_one_class_is_refused(thresholds: int | None) -> None:
    metric = BinaryTPRAtFPR(0.1, thresholds)
    metric.update(np.array([0.1, 0.2]), [0, 0])
    with pytest.raises(InputError, match="got no positive among 2 labels"):
        metric.compute()
