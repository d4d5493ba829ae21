from __future__ import annotations

import pickle
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from sklearn.metrics import auc, roc_auc_score
from torch import Tensor
from torchmetrics import MetricCollection
from torchmetrics.classification import BinaryAUROC

from pauc_lightning import InputError
from pauc_lightning.metrics import BinaryPartialAUC
from pauc_lightning.metrics.functional import binary_partial_auc, partial_auc_from_counts

REGIONS: list[dict[str, Any]] = [
    {},
    {"max_fpr": 0.3},
    {"max_fpr": 0.3, "min_tpr": 0.6},
    {"max_fpr": 0.9, "min_tpr": 0.3, "min_fpr": 0.2},
    {"max_fpr": 0.3, "min_tpr": 0.6, "ties": "half"},
    {"max_fpr": 0.5, "min_fpr": 0.1, "ties": "win"},
    {"max_fpr": 0.5, "min_tpr": 0.2, "scale": "area"},
    {"max_fpr": 0.13, "scale": "mcclish"},
]


def make_samples(n: int = 400, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    target = (torch.rand(n, generator=generator) < 0.3).long()
    scores = torch.sigmoid(torch.randn(n, generator=generator) + target)
    return (scores * 50).round() / 50, target  # with ties


@pytest.mark.parametrize("arguments", REGIONS)
def test_batches_add_up_to_the_function_of_all_samples(arguments: dict[str, Any]) -> None:
    preds, target = make_samples()
    expected = binary_partial_auc(preds, target, **arguments)
    metric = BinaryPartialAUC(**arguments)
    order = target.argsort(stable=True)  # the first batches hold one class only
    for part in torch.tensor_split(order, [1, 1, 151, 200]):
        metric.update(preds[part], target[part])
    assert metric.compute() == expected
    metric.reset()
    metric.update(preds[:100].view(10, 10), target[:100].view(10, 10).bool())
    assert metric.compute() == binary_partial_auc(preds[:100], target[:100], **arguments)


def test_forward_returns_the_batch_and_accumulates() -> None:
    preds, target = make_samples()
    for thresholds in (None, 50_000):
        metric = BinaryPartialAUC(max_fpr=0.3, thresholds=thresholds)
        for part in (slice(0, 100), slice(100, 400)):
            value = metric(preds[part], target[part])
            assert value == binary_partial_auc(preds[part], target[part], max_fpr=0.3)
        assert metric.compute() == binary_partial_auc(preds, target, max_fpr=0.3)


@pytest.mark.parametrize(
    "options", [{}, {"thresholds": 100}, {"dist_sync_on_step": True}, {"compute_on_cpu": True}]
)
def test_forward_of_a_refused_batch_changes_nothing(options: dict[str, Any]) -> None:
    metric = BinaryPartialAUC(max_fpr=0.5, **options)
    metric(torch.tensor([0.925, 0.815, 0.415]), torch.tensor([1, 0, 0]))
    for _ in range(2):
        with pytest.raises(InputError, match="both classes"):
            metric(torch.tensor([0.95, 0.3]), torch.tensor([0, 0]))
    assert float(metric.compute()) == 1.0
    metric(torch.tensor([0.955, 0.985, 0.115]), torch.tensor([0, 1, 0]))
    assert float(metric.compute()) == 0.75  # of the negatives 0.955 and 0.815 count, and 0.925 < 0.955
    assert metric.update_count == 2


def test_batches_of_different_dtypes_stay_exact() -> None:
    near = torch.tensor([0.1], dtype=torch.float64)  # rounds up to float32's 0.1, which is larger
    metric = BinaryPartialAUC()
    metric.update(near, torch.tensor([1]))
    metric.update(near.float(), torch.tensor([0]))
    assert metric.compute() == 0.0


def test_gradients_and_graphs_are_not_kept() -> None:
    preds, target = make_samples()
    metric = BinaryPartialAUC()
    metric.update(preds.requires_grad_() * 1, target)
    assert not metric.scores[0].requires_grad
    assert not metric.compute().requires_grad


def test_pickle_and_clone_keep_arguments_and_state() -> None:
    preds, target = make_samples()
    for thresholds in (None, 20):
        metric = BinaryPartialAUC(max_fpr=0.3, min_tpr=0.5, ties="win", thresholds=thresholds)
        metric.update(preds[:200], target[:200])
        for copy in (pickle.loads(pickle.dumps(metric)), metric.clone()):
            copy.update(preds[200:], target[200:])
            reference = BinaryPartialAUC(max_fpr=0.3, min_tpr=0.5, ties="win", thresholds=thresholds)
            reference.update(preds, target)
            assert copy.compute() == reference.compute()


def test_collection_shares_updates_among_regions_only() -> None:
    # BinaryAUROC passes a batch through a sigmoid when a score leaves [0, 1]; had it lent us its state, the
    # second batch would be ranked against the first on another scale.
    collection = MetricCollection(
        {
            "auroc": BinaryAUROC(),
            "opauc": BinaryPartialAUC(max_fpr=0.5),
            "tpauc": BinaryPartialAUC(max_fpr=0.5, min_tpr=0.5),
            "binned": BinaryPartialAUC(max_fpr=0.5, thresholds=4, validate_args=False),
        }
    )
    generator = torch.Generator().manual_seed(2)
    target = torch.arange(200) % 3 == 0
    logits = torch.randn(200, generator=generator) * 3 + target
    small = logits.argsort().view(2, 100)  # first batch: low scores within [0, 1]
    batches = [logits[small[0]].sigmoid(), logits[small[1]].exp() + 1]
    for preds, part in zip(batches, small, strict=True):
        collection.update(preds, target[part].long())
    values = collection.compute()
    groups = [set(group) for group in collection.compute_groups.values()]
    assert {"opauc", "tpauc"} in groups
    assert {"auroc"} in groups
    assert {"binned"} in groups
    preds, labels = torch.cat(batches), target[small.flatten()]
    assert values["opauc"] == binary_partial_auc(preds, labels, max_fpr=0.5)
    assert values["tpauc"] == binary_partial_auc(preds, labels, max_fpr=0.5, min_tpr=0.5)


SCORES = st.floats(0, 1, width=32) | st.sampled_from([0.05, 0.07, 0.1, 0.13, 0.3, 0.31, 0.52, 1.0])
"""Many of them in the same bin, tied there or not."""


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    samples=st.lists(st.tuples(SCORES, st.booleans()), max_size=40),
    n_bins=st.sampled_from([2, 3, 10, 1000]),
    arguments=st.sampled_from(REGIONS),
)
def test_bins_are_never_further_off_than_they_say(
    samples: list[tuple[float, bool]], n_bins: int, arguments: dict[str, Any]
) -> None:
    # four of each class, so that no region is empty
    preds = torch.tensor([s for s, _ in samples] + [0.0, 1.0, 0.25, 0.5] * 2 + [0.1] * 8)
    target = torch.tensor([y for _, y in samples] + [True] * 4 + [False] * 4 + [True] * 4 + [False] * 4)
    metric = BinaryPartialAUC(**arguments, thresholds=n_bins)
    for part in torch.tensor_split(torch.arange(len(target)), 5):
        metric.update(preds[part], target[part])
    exact = binary_partial_auc(preds, target, **arguments)
    assert abs(metric.compute() - exact) <= metric.error_bound() + 1e-12
    _, lower, upper = partial_auc_from_counts(metric.histogram[1], metric.histogram[0], **arguments)
    assert lower - 1e-12 <= exact <= upper + 1e-12


def test_the_bounds_are_reached() -> None:
    """Two bins, and all orders of the samples within them: the extremes are the bounds."""
    counts = {1: [2, 2], 0: [2, 3]}  # (positives or negatives) per bin
    target = torch.tensor([1, 1, 0, 0, 1, 1, 0, 0, 0])
    low, high = torch.linspace(0.1, 0.4, 4), torch.linspace(0.6, 0.9, 5)
    for arguments in REGIONS:
        metric = BinaryPartialAUC(**arguments, thresholds=2)
        metric.update(torch.cat([low, high]), target)
        assert metric.histogram.tolist() == [counts[0], counts[1]]
        values = [
            binary_partial_auc(torch.cat([low[list(a)], high[list(b)]]), target, **arguments).item()
            for a in permutations(range(4))
            for b in permutations(range(5))
            if a[0] < a[1] and a[2] < a[3] and b[0] < b[1] and b[2] < b[3] < b[4]
        ]
        value, lower, upper = partial_auc_from_counts(metric.histogram[1], metric.histogram[0], **arguments)
        assert (min(values), max(values)) == pytest.approx((lower.item(), upper.item()), abs=1e-12)
        assert metric.compute() == value
        assert metric.error_bound() == max(upper - value, value - lower)


@pytest.mark.parametrize("thresholds", [None, 10])
def test_a_constant_score_is_worth_what_the_diagonal_leaves(thresholds: int | None) -> None:
    for max_fpr, min_tpr, expected in [(0.3, 0.0, 0.15), (0.3, 0.7, 0.0), (0.8, 0.5, 0.1125)]:
        metric = BinaryPartialAUC(max_fpr, min_tpr, thresholds=thresholds)
        for _ in range(4):
            metric.update(torch.full((10,), 0.7), torch.arange(10) % 2)
        assert metric.compute().item() == expected


@pytest.mark.parametrize("thresholds", [None, 64])
def test_arrays_lists_and_series_are_accepted(thresholds: int | None) -> None:
    preds, target = make_samples()
    expected = BinaryPartialAUC(max_fpr=0.3, thresholds=thresholds)
    metric = expected.clone()
    expected.update(preds.double(), target)
    metric.update(preds[:100].numpy(), target[:100].numpy())
    metric.update(preds[100:200].double().tolist(), target[100:200].tolist())
    metric.update(pd.Series(preds[200:300].numpy()), pd.Series(target[200:300].numpy(), dtype="Int64"))
    metric.update(preds[300:], target[300:].tolist())
    assert metric.compute() == expected.compute()
    assert metric(preds[:50].numpy(), target[:50].numpy()) == expected(preds[:50], target[:50])
    with pytest.raises(
        InputError, match="`target` must be a tensor, an array or a list of numbers, got a list of str"
    ):
        metric.update([0.1, 0.2], ["yes", "no"])
    assert metric.compute() == expected.compute()


def test_more_bins_mean_a_smaller_bound_in_the_same_memory() -> None:
    generator = torch.Generator().manual_seed(4)
    target = torch.rand(20_000, generator=generator) < 0.1
    preds = torch.sigmoid(torch.randn(20_000, generator=generator) + 2 * target)
    exact = binary_partial_auc(preds.repeat(3), target.repeat(3), max_fpr=0.3, min_tpr=0.5)
    bounds = []
    for n_bins in (10, 100, 1000, 10_000):
        metric = BinaryPartialAUC(max_fpr=0.3, min_tpr=0.5, thresholds=n_bins)
        for _ in range(3):
            metric.update(preds, target)
            assert metric.histogram.numel() == 2 * n_bins
        assert abs(metric.compute() - exact) <= metric.error_bound() + 1e-12
        bounds.append(metric.error_bound().item())
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > 100 * bounds[-1] > 0
    assert BinaryPartialAUC().error_bound() == 0


def test_the_bound_of_one_full_bin_is_half_the_range() -> None:
    metric = BinaryPartialAUC(thresholds=2)
    metric.update(torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([0, 1, 0, 1]))
    assert metric.compute() == 0.5
    assert metric.error_bound() == 0.5
    metric.update(torch.tensor([0.9, 1.0]), torch.tensor([1, 1]))  # 4 of 8 pairs are decided now
    assert metric.compute() == 0.75
    assert metric.error_bound() == 0.25


@pytest.mark.parametrize("thresholds", [1, 0, 2.5, True, "100"])
def test_thresholds_must_be_a_number_of_bins(thresholds: Any) -> None:
    with pytest.raises(InputError, match="`thresholds` must be None"):
        BinaryPartialAUC(thresholds=thresholds)
    of_numpy: Any = np.int64(100)
    assert BinaryPartialAUC(thresholds=of_numpy).histogram.shape == (2, 100)


def test_errors_of_the_class() -> None:
    with pytest.raises(InputError, match="`max_fpr` is a rate"):
        BinaryPartialAUC(max_fpr=1.5)
    with pytest.raises(InputError, match="`ties` must be"):
        BinaryPartialAUC(ties="lose")  # type: ignore[arg-type]
    for thresholds in (None, 10):
        metric = BinaryPartialAUC(thresholds=thresholds)
        with pytest.raises(InputError, match="`preds` must be finite"):
            metric.update(torch.tensor([0.5, torch.nan]), torch.tensor([0, 1]))
        with pytest.raises(InputError, match="`target` must be 0 or 1, got 3"):
            metric.update(torch.tensor([0.5, 0.5]), torch.tensor([0, 3]))
        with pytest.raises(InputError, match="same shape"):
            metric.update(torch.tensor([0.5]), torch.tensor([0, 1]))
        metric.update(torch.tensor([0.5]), torch.tensor([0]))
        with pytest.raises(InputError, match="got no positive among 1 labels"):
            metric.compute()
    metric = BinaryPartialAUC(thresholds=10)
    with pytest.raises(InputError, match=r"lie in \[0, 1\] with `thresholds`, got scores from -2 to 3"):
        metric.update(torch.tensor([-2.0, 3.0]), torch.tensor([0, 1]))


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric:UserWarning")
@pytest.mark.parametrize("thresholds", [None, 10])
def test_compute_without_samples_is_a_clear_error(thresholds: int | None) -> None:
    with pytest.raises(InputError, match="got no positive among 0 labels"):
        BinaryPartialAUC(thresholds=thresholds).compute()


@pytest.mark.parametrize("thresholds", [None, 50_000])
def test_plot_draws_the_curve_and_several_values(thresholds: int | None) -> None:
    preds, target = make_samples()
    metric = BinaryPartialAUC(max_fpr=0.3, min_tpr=0.6, thresholds=thresholds)
    metric.update(preds, target)
    _, ax = metric.plot()
    assert f"{binary_partial_auc(preds, target, 0.3, 0.6):.4f}" in ax.get_title()
    curve = np.asarray(ax.lines[0].get_xydata())
    # the area under the drawn line is the AUC
    assert auc(curve[:, 0], curve[:, 1]) == pytest.approx(roc_auc_score(target, preds), abs=1e-12)
    half = BinaryPartialAUC(max_fpr=0.3, min_tpr=0.6, ties="half", thresholds=thresholds)
    half.update(preds, target)
    assert half.plot()[1].get_title() == f'{half.region.title} = {half.compute():.4f}, ties="half"'
    own = Figure().add_subplot()
    assert metric.plot(ax=own) == (own.figure, own)
    values = [metric.compute(), metric.compute() / 2]
    drawn = Figure().add_subplot()
    metric.plot(values, ax=drawn)
    np.testing.assert_allclose(np.asarray(drawn.lines[0].get_ydata()), [v.item() for v in values])
    (plotted,) = MetricCollection([metric]).plot()
    assert plotted[0].axes[0].get_title() == ax.get_title()
