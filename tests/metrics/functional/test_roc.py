"""The ROC curve's points, against the rates counted threshold by threshold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from pauc_lightning import InputError, Region
from pauc_lightning.metrics.functional import RocCurve, binary_partial_auc


def make_samples(n: int = 500, levels: int = 20, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    target = (torch.rand(n, generator=generator) < 0.3).long()
    return ((torch.randn(n, generator=generator) + target) * levels).round() / levels, target


def counted_rates(scores: Tensor, target: Tensor, threshold: float) -> tuple[float, float]:
    """False- and true-positive rate of calling the scores from the threshold upwards positive."""
    called = scores.double() >= threshold
    return float(called[target == 0].double().mean()), float(called[target == 1].double().mean())


def area_under(curve: RocCurve) -> float:
    """The area by the trapezoidal rule."""
    return float(np.sum(np.diff(curve.fpr) * (curve.tpr[1:] + curve.tpr[:-1]) / 2))


@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_every_point_has_the_rates_of_its_threshold_and_none_is_missing(levels: int) -> None:
    scores, target = make_samples(levels=levels)
    curve = RocCurve.from_scores(scores, target)
    assert (curve.fpr[0], curve.tpr[0], curve.fpr[-1], curve.tpr[-1]) == (0, 0, 1, 1)
    for fpr, tpr, threshold in zip(curve.fpr, curve.tpr, curve.thresholds, strict=True):
        assert (fpr, tpr) == pytest.approx(counted_rates(scores, target, threshold), abs=1e-12)
    # Points in the middle of a straight line may be left out, no others: the area stays.
    wins = scores[target == 1][:, None] - scores[target == 0][None, :]
    auc = float(((wins > 0).double() + 0.5 * (wins == 0)).mean())
    assert area_under(curve) == pytest.approx(auc, abs=1e-12)


def test_lists_and_arrays_give_the_curve_of_the_tensors() -> None:
    scores, target = make_samples(n=50)
    expected = RocCurve.from_scores(scores, target)
    for convert in (Tensor.tolist, Tensor.numpy):
        curve = RocCurve.from_scores(convert(scores.double()), convert(target))
        np.testing.assert_array_equal(curve.fpr, expected.fpr)
        np.testing.assert_array_equal(curve.tpr, expected.tpr)


def test_curve_from_counts_joins_the_bins() -> None:
    positives, negatives = torch.tensor([1, 0, 3]), torch.tensor([5, 4, 1])
    curve = RocCurve.from_counts(positives, negatives)
    np.testing.assert_allclose(curve.fpr, [0, 0.1, 0.5, 1])
    np.testing.assert_allclose(curve.tpr, [0, 0.75, 0.75, 1])
    np.testing.assert_allclose(curve.thresholds, [np.inf, 2 / 3, 1 / 3, 0])
    with_edges = RocCurve.from_counts(positives, negatives, thresholds=[-5, 0, 7])
    np.testing.assert_allclose(with_edges.thresholds, [np.inf, 7, 0, -5])


@pytest.mark.parametrize(("label", "name"), [(0, "positive"), (1, "negative")])
def test_a_missing_class_is_refused(label: int, name: str) -> None:
    with pytest.raises(InputError, match=rf"both classes to draw a ROC curve, got no {name} among 3 labels"):
        RocCurve.from_scores([0.1, 0.2, 0.3], [label] * 3)
    with pytest.raises(InputError, match=f"got no {name}"):
        RocCurve.from_counts(torch.tensor([2, 1]) * label, torch.tensor([1, 1]) * (1 - label))


def test_interpolation_takes_the_upper_end_of_a_vertical_line() -> None:
    curve = RocCurve.from_counts(torch.tensor([1, 0, 3]), torch.tensor([5, 4, 1]))
    np.testing.assert_allclose(curve.tpr_at([0, 0.05, 0.1, 0.75]), [0, 0.375, 0.75, 0.875])
    steep = RocCurve.from_scores([0.9, 0.1], [1, 0])
    assert steep.tpr_at(0.0) == 1


def test_a_part_of_the_curve_keeps_its_area_and_its_thresholds() -> None:
    scores, target = make_samples(levels=3)
    curve = RocCurve.from_scores(scores, target)
    n_neg = int((target == 0).sum())
    low, high = 30 / n_neg, 150 / n_neg
    part = curve.clipped(low, high)
    value = binary_partial_auc(scores, target, max_fpr=high, min_fpr=low, scale="area")
    assert area_under(part) == pytest.approx(float(value), abs=1e-9)
    assert counted_rates(scores, target, part.thresholds[-1])[0] <= high


def test_thinning_keeps_the_curve_within_a_pixel() -> None:
    scores, target = make_samples(n=200_000, levels=10**6)
    region = Region(max_fpr=0.01, min_tpr=0.2)
    full = RocCurve.from_scores(scores, target)
    thin = full.thinned(region)
    assert thin.fpr.size <= 4002 < full.fpr.size
    assert (thin.fpr[0], thin.tpr[0], thin.fpr[-1], thin.tpr[-1]) == (0, 0, 1, 1)
    grid = np.linspace(0, 1, 5001)
    assert np.abs(thin.tpr_at(grid) - full.tpr_at(grid)).max() < 2e-3
    inside = np.linspace(0, 0.01, 501)
    assert np.abs(thin.tpr_at(inside) - full.tpr_at(inside)).max() < 2e-3
    small = RocCurve.from_scores(*make_samples())
    assert small.thinned(region) is small
