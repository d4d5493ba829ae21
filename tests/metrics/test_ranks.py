from __future__ import annotations

from typing import Any

import pytest
import torch
from ddp import run_on_ranks
from torch import Tensor
from torchmetrics import MetricCollection

from pauc_lightning import InputError
from pauc_lightning.metrics import BinaryPartialAUC
from pauc_lightning.metrics.functional import binary_partial_auc

ARGUMENTS: list[dict[str, Any]] = [
    {"max_fpr": 0.3, "min_tpr": 0.6},
    {"max_fpr": 0.5, "min_fpr": 0.1, "ties": "win"},
    {"max_fpr": 0.13, "scale": "mcclish"},
]


def make_samples(n: int = 400) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    target = (torch.rand(n, generator=generator) < 0.3).long()
    scores = torch.sigmoid(torch.randn(n, generator=generator) + target)
    return (scores * 50).round() / 50, target  # with ties


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
    for dtype in (torch.float64, torch.float16):
        metric = BinaryPartialAUC()
        results[f"empty rank {dtype}"] = _collect(
            metric, [(preds.to(dtype), target)] if rank == 1 else nothing
        )
        # float16 here, float64 there
        results[f"mixed {dtype}"] = _collect(
            BinaryPartialAUC(), [(preds[uneven].to(dtype if rank else torch.float32), target[uneven])]
        )
    metric = BinaryPartialAUC(max_fpr=0.3)
    metric.update(preds[uneven], target[uneven])
    results["plot"] = metric.plot()[1].get_title()
    collection = MetricCollection({"a": BinaryPartialAUC(max_fpr=0.3), "b": BinaryPartialAUC(min_tpr=0.5)})
    collection.update(preds[uneven], target[uneven])
    results["collection"] = {name: value.item() for name, value in collection.compute().items()}
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
    full = binary_partial_auc(preds, target).item()
    for dtype in (torch.float64, torch.float16):
        alone_value = binary_partial_auc(preds.to(dtype), target).item()
        assert first[f"empty rank {dtype}"] == [alone_value, 0.0]
    assert first["mixed torch.float64"] == [full, 0.0]
    mixed = torch.cat([preds[:130], preds[130:].half().float()])
    assert first["mixed torch.float16"] == [binary_partial_auc(mixed, target).item(), 0.0]
    assert first["plot"].endswith(f"{binary_partial_auc(preds, target, max_fpr=0.3):.4f}")
    assert first["collection"] == {
        "a": binary_partial_auc(preds, target, max_fpr=0.3).item(),
        "b": binary_partial_auc(preds, target, min_tpr=0.5).item(),
    }
    assert "got no positive among 0 labels" in first["nobody"]
