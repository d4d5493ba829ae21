from __future__ import annotations

from typing import Any

import pytest
import torch
from ddp import run_on_ranks
from torch import Tensor
from torchmetrics import MetricCollection

from pauc_lightning import InputError
from pauc_lightning.metrics import (
    BinaryPartialAUC,
    BinaryPartialAUCInterval,
    BinaryTPRAtFPR,
    BinaryTPRAtFPRInterval,
)
from pauc_lightning.metrics.functional import binary_partial_auc, partial_auc_interval, tpr_at_fpr_interval
from pauc_lightning.metrics.functional.intervals import IntervalMethod

ARGUMENTS: list[dict[str, Any]] = [
    {"max_fpr": 0.3, "min_tpr": 0.6},
    {"max_fpr": 0.85, "min_tpr": 0.25, "min_fpr": 0.15},
    {"max_fpr": 0.3, "ties": "half"},
    {"max_fpr": 0.5, "min_fpr": 0.1, "ties": "win"},
    {"max_fpr": 0.13, "scale": "mcclish"},
]


METHODS: tuple[IntervalMethod, ...] = ("analytic", "bootstrap")


def make_samples(n: int = 400) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    target = (torch.rand(n, generator=generator) < 0.3).long()
    scores = torch.sigmoid(torch.randn(n, generator=generator) + target)
    return (scores * 50).round() / 50, target  # with ties


def make_close_samples(n: int = 400) -> tuple[Tensor, Tensor]:
    """Float64 scores that are all equal in float32, positives above negatives."""
    target = torch.arange(n) % 3 == 0
    return 0.5 + 1e-12 * (torch.arange(n) + n * target).double(), target


def _collect(metric: BinaryPartialAUC, batches: list[tuple[Tensor, Tensor]]) -> list[float]:
    for preds, target in batches:
        metric.update(preds, target)
    return [metric.compute().item(), metric.error_bound().item()]


def _on_a_rank(rank: int) -> dict[str, Any]:
    preds, target = make_samples()
    uneven = [slice(0, 130), slice(130, 400)][rank]
    mine = [(preds[uneven], target[uneven])]
    nothing: list[tuple[Tensor, Tensor]] = []
    results: dict[str, Any] = {}
    for i, arguments in enumerate(ARGUMENTS):
        for mode, thresholds in (("exact", None), ("binned", 64)):
            metric = BinaryPartialAUC(**arguments, thresholds=thresholds)
            results[f"{mode} {i}"] = _collect(metric, mine)
            # compute() leaves the rank its own samples: further ones add to them
            metric.update(preds[uneven], target[uneven])
            results[f"{mode} {i} continued"] = [metric.compute().item(), metric.error_bound().item()]
            metric.reset()
            results[f"{mode} {i} one rank"] = _collect(metric, [(preds, target)] if rank == 0 else nothing)
            metric.reset()
            # one class per rank
            part = target == rank
            results[f"{mode} {i} one class"] = _collect(metric, [(preds[part], target[part])])
    for wide in (0, 1):
        close, close_target = make_close_samples()
        batch = close[uneven], close_target[uneven]
        results[f"float64 on rank {wide} only"] = _collect(
            BinaryPartialAUC(), [batch] if rank == wide else nothing
        )
        dtype = torch.float64 if rank == wide else torch.float32
        results[f"float32 beside float64 on rank {wide}"] = _collect(
            BinaryPartialAUC(), [(batch[0].to(dtype), batch[1])]
        )
    results["float16 on an empty rank"] = _collect(
        BinaryPartialAUC(), [(preds.half(), target)] if rank == 1 else nothing
    )
    results["float16 beside float32"] = _collect(
        BinaryPartialAUC(), [(preds[uneven].to(torch.float16 if rank else torch.float32), target[uneven])]
    )
    metric = BinaryPartialAUC(max_fpr=0.3)
    metric.update(preds[uneven], target[uneven])
    results["plot"] = metric.plot()[1].get_title()
    collection = MetricCollection({"a": BinaryPartialAUC(max_fpr=0.3), "b": BinaryPartialAUC(min_tpr=0.5)})
    collection.update(preds[uneven], target[uneven])
    results["collection"] = {name: value.item() for name, value in collection.compute().items()}
    for i, thresholds in enumerate((None, 50)):
        recall, shifted = BinaryTPRAtFPR(0.1, thresholds), preds + 0.003  # away from the bins' edges
        recall.update(shifted[uneven], target[uneven])
        # A rank that has its own samples only would give another value.
        results[f"recall {i}"] = [recall.compute().item(), *recall.operating_point(), recall.compute().item()]
        recall.reset()
        part = target == rank
        recall.update(shifted[part], target[part])
        results[f"recall {i} one class"] = [recall.compute().item(), *recall.operating_point()]
    for method in METHODS:
        interval = BinaryPartialAUCInterval(0.3, 0.2, method=method, n_resamples=200)
        if rank == 0:
            interval.update(preds, target)  # all samples on one rank
        results[f"interval {method}"] = {name: value.item() for name, value in interval.compute().items()}
    for name, rows in (("uneven", uneven), ("on one rank", slice(0, 400 if rank == 1 else 0))):
        recall_interval = BinaryTPRAtFPRInterval(0.2, n_resamples=200)
        recall_interval.update(preds[rows], target[rows])
        results[f"recall interval {name}"] = {
            key: value.item() for key, value in recall_interval.compute().items()
        }
    try:
        BinaryPartialAUC().compute()
    except InputError as error:
        results["nobody"] = str(error)
    return results


def test_two_processes_agree_with_one() -> None:
    preds, target = make_samples()
    first, second = run_on_ranks(_on_a_rank, 2)
    assert first == second
    for i, arguments in enumerate(ARGUMENTS):
        for mode, thresholds in (("exact", None), ("binned", 64)):
            alone = BinaryPartialAUC(**arguments, thresholds=thresholds)
            expected = _collect(alone, [(preds, target)])
            assert first[f"{mode} {i}"] == pytest.approx(expected, abs=1e-14)
            assert first[f"{mode} {i} one rank"] == pytest.approx(expected, abs=1e-14)
            assert first[f"{mode} {i} one class"] == pytest.approx(expected, abs=1e-14)
            twice = _collect(alone, [(preds, target)])
            assert first[f"{mode} {i} continued"] == pytest.approx(twice, abs=1e-14)
    assert first["float16 on an empty rank"] == [binary_partial_auc(preds.half(), target).item(), 0.0]
    mixed = torch.cat([preds[:130], preds[130:].half().float()])
    assert first["float16 beside float32"] == [binary_partial_auc(mixed, target).item(), 0.0]
    close, close_target = make_close_samples()
    assert binary_partial_auc(close.float(), close_target).item() == 0.5  # float32 sees one score
    for wide, part in enumerate((slice(0, 130), slice(130, 400))):
        # One rank's samples alone: a perfect ranking that only float64 can see.
        assert first[f"float64 on rank {wide} only"] == [1.0, 0.0]
        rounded = close.float().double()
        rounded[part] = close[part]
        expected_value = binary_partial_auc(rounded, close_target).item()
        assert 0.5 < expected_value < 1
        assert first[f"float32 beside float64 on rank {wide}"] == [expected_value, 0.0]
    assert first["plot"].endswith(f"{binary_partial_auc(preds, target, max_fpr=0.3):.4f}")
    assert first["collection"] == {
        "a": binary_partial_auc(preds, target, max_fpr=0.3).item(),
        "b": binary_partial_auc(preds, target, min_tpr=0.5).item(),
    }
    assert "got no positive among 0 labels" in first["nobody"]
    point = _scanned(preds + 0.003, target, 0.1)
    for i, threshold in enumerate((point[0], point[0] - 0.003)):  # 50 bins hold one score each
        expected = [point[2], threshold, *point[1:]]
        assert first[f"recall {i}"] == pytest.approx([*expected, point[2]], abs=1e-6)
        assert first[f"recall {i} one class"] == pytest.approx(expected, abs=1e-6)
    for method in METHODS:
        expected_interval = partial_auc_interval(preds, target, 0.3, 0.2, method=method, n_resamples=200)
        for name, number in first[f"interval {method}"].items():
            assert number == pytest.approx(getattr(expected_interval, name), abs=1e-12)
    of_recall = tpr_at_fpr_interval(preds, target, 0.2, n_resamples=200)
    for name in ("uneven", "on one rank"):
        for key, number in first[f"recall interval {name}"].items():
            assert number == pytest.approx(getattr(of_recall, key), abs=1e-12)


def _scanned(preds: Tensor, target: Tensor, max_fpr: float) -> tuple[float, float, float, float]:
    """The threshold, false-positive rate, recall and precision of the largest recall, by trying all thresholds."""
    points = []
    for threshold in preds[target == 1].unique().tolist():
        called = preds >= threshold
        fpr = called[target == 0].double().mean().item()
        if fpr <= max_fpr:
            recall = called[target == 1].double().mean().item()
            points.append((threshold, fpr, recall, target[called].double().mean().item()))
    return max(points, key=lambda point: point[2])
