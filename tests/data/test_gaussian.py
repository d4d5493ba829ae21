"""The known values of the Gaussian mixture: against sampling, closed forms, and what training can reach."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from pauc_lightning.data import GaussianLT
from pauc_lightning.errors import InputError
from pauc_lightning.region import Region

REGIONS = [Region(max_fpr=0.1), Region(max_fpr=0.3), Region(max_fpr=0.3, min_tpr=0.7)]
CROWD = GaussianLT(
    positive_classes=[1, 3],
    means=[[0, 0], [2, 1], [1, -2], [-1, 3]],
    stds=[[1, 2], [0.5, 1], [2, 0.5], [1, 1]],
    sizes=[4000, 3000, 4000, 2000],
    imbalance_ratio=0.25,
)


def brute_force(low_first: Tensor, high_first: Tensor, region: Region) -> float:
    """The definition, from sorted scores: the fraction of selected pairs in the right order."""
    n_pos, first, last = region.counts(len(low_first), len(high_first))
    negatives = high_first[first:last].flip(0)
    # how many negatives lie below each positive, instead of a table of all pairs
    return (torch.searchsorted(negatives, low_first[:n_pos]) / len(negatives)).mean().item()


@pytest.mark.parametrize("data", [GaussianLT(), CROWD], ids=["default", "crowd"])
def test_population_values_are_those_of_a_large_sample(data: GaussianLT) -> None:
    generator = torch.Generator().manual_seed(0)
    kept = torch.tensor([sum(row[2:]) for row in data.class_counts])  # after the long tail
    points: dict[bool, list[Tensor]] = {False: [], True: []}
    for label, size in enumerate((kept * (2_000_000 // int(kept.sum()))).tolist()):
        noise = torch.randn(size, 2, dtype=torch.float64, generator=generator)
        points[label in data.positive_classes].append(data.means[label] + data.stds[label] * noise)
    positives, negatives = torch.cat(points[True]), torch.cat(points[False])
    for angle in (-2.0, 0.0, 0.4, 1.2):
        weight = torch.tensor([math.cos(angle), math.sin(angle)], dtype=torch.float64)
        low, high = (positives @ weight).sort().values, (negatives @ weight).sort(descending=True).values
        for region in (*REGIONS, Region(), Region(max_fpr=0.4, min_fpr=0.1), Region(0.5, 0.5)):
            expected = brute_force(low, high, region)
            value = data.population_partial_auc(3 * weight, region)
            assert value == pytest.approx(expected, abs=0.003), (angle, region)


def test_the_sample_follows_the_mixture() -> None:
    inputs, labels = CROWD.source.inputs, torch.from_numpy(CROWD.source.labels)
    for label in range(4):
        points = inputs[labels == label].double()
        assert len(points) == CROWD.sizes[label]
        assert torch.allclose(points.mean(0), CROWD.means[label], atol=0.15)
        assert torch.allclose(points.std(0), CROWD.stds[label], rtol=0.08)
    assert CROWD.input_shape == (2,)


def test_two_gaussians_have_the_textbook_auc() -> None:
    data = GaussianLT(means=[[1.5], [0.0]], stds=[[2.0], [1.0]], sizes=[100, 100])
    expected = 0.5 * (1 + math.erf(1.5 / math.sqrt(5) / math.sqrt(2)))
    assert data.population_partial_auc(torch.tensor([0.1]), Region()) == pytest.approx(expected, abs=1e-12)
    assert data.population_partial_auc(torch.tensor([-9.0]), Region()) == pytest.approx(
        1 - expected, abs=1e-12
    )


@pytest.mark.parametrize("region", [*REGIONS, Region()], ids=lambda r: r.name)
def test_with_equal_covariances_fishers_direction_is_best(region: Region) -> None:
    data = GaussianLT(means=[[1.0, 1.0], [0.0, 0.0]], stds=[[1.0, 2.0]] * 2, sizes=[50, 500])
    weight, value = data.best_linear(region)
    fisher = torch.tensor([1.0, 0.25], dtype=torch.float64)
    assert torch.allclose(weight, fisher / fisher.norm(), atol=1e-3)
    assert value == pytest.approx(data.population_partial_auc(fisher, region), abs=1e-7)


@pytest.mark.parametrize("region", REGIONS, ids=lambda r: r.name)
def test_no_direction_beats_the_best(region: Region) -> None:
    weight, value = CROWD.best_linear(region)
    assert CROWD.population_partial_auc(weight, region) == pytest.approx(value, abs=1e-12)
    for angle in np.linspace(0, 2 * np.pi, 100):
        other = torch.tensor([math.cos(angle), math.sin(angle)])
        assert CROWD.population_partial_auc(other, region) <= value + 1e-6


def training_part(data: GaussianLT) -> tuple[Tensor, Tensor]:
    sample = data.dataset("train").__getitems__(range(data.train_size))
    return sample.input, sample.target


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cross_entropy_misses_the_best_direction(seed: int) -> None:
    data = GaussianLT(seed=seed)
    fitted = LogisticRegression(C=1e6).fit(*training_part(data))
    for region, loss in zip(REGIONS, (0.04, 0.02, 0.1), strict=True):
        reached = data.population_partial_auc(torch.from_numpy(fitted.coef_[0]), region)
        assert reached < data.best_linear(region)[1] - loss


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cross_entropy_of_balanced_classes_nearly_finds_it(seed: int) -> None:
    """The mixture misleads cross-entropy through the easy negatives, which count less in balanced batches."""
    data = GaussianLT(seed=seed)
    fitted = LogisticRegression(C=1e6, class_weight="balanced").fit(*training_part(data))
    for region, loss in zip(REGIONS, (0.005, 0.003, 0.01), strict=True):
        reached = data.population_partial_auc(torch.from_numpy(fitted.coef_[0]), region)
        assert data.best_linear(region)[1] - loss < reached < data.best_linear(region)[1] - loss / 10


@pytest.mark.parametrize("region", REGIONS, ids=lambda r: r.name)
def test_the_pairwise_surrogate_of_the_region_finds_the_best_direction(region: Region) -> None:
    """What the minimax methods must come to: squared pairwise loss of sigmoid scores, hard selection."""
    data = GaussianLT()
    inputs, target = training_part(data)
    n_pos, _, n_neg = region.counts(int(target.sum()), int((1 - target).sum()))
    fitted = LogisticRegression(C=1e6).fit(inputs, target)  # the warm-up
    weight = torch.tensor(fitted.coef_[0], dtype=torch.float32, requires_grad=True)
    bias = torch.tensor(fitted.intercept_[0], dtype=torch.float32, requires_grad=True)
    optimizer = torch.optim.Adam([weight, bias], lr=0.05)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=300)
    for _ in range(300):
        scores = (inputs @ weight + bias).sigmoid()
        low = scores[target == 1].topk(n_pos, largest=False).values
        high = scores[target == 0].topk(n_neg).values
        # the mean over pairs of (1 - (low - high))^2, without the table of pairs
        gap = 1 - low.mean() + high.mean()
        loss = gap.square() + low.var(correction=0) + high.var(correction=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    assert data.population_partial_auc(weight, region) > data.best_linear(region)[1] - 0.001


def test_bad_mixtures_are_refused() -> None:
    with pytest.raises(InputError, match="must describe the same components"):
        GaussianLT(means=[[0, 0], [1]], stds=[[1, 1], [1, 1]], sizes=[5, 5])
    with pytest.raises(InputError, match="and 3 sizes"):
        GaussianLT(means=[[0, 0], [1, 1]], stds=[[1, 1], [1, 1]], sizes=[5, 5, 5])
    with pytest.raises(InputError, match=r"`stds\[1\]\[0\]` must be a finite number above 0, got 0"):
        GaussianLT(means=[[0], [1]], stds=[[1], [0]], sizes=[5, 5])
    data = GaussianLT(means=[[0], [1]], stds=[[1], [1]], sizes=[50, 50])
    with pytest.raises(InputError, match="the points have 1 dimensions"):
        data.best_linear(Region())
    with pytest.raises(InputError, match="`weight` must be a direction in 1 dimensions that is not zero"):
        data.population_partial_auc(torch.zeros(1), Region())
    with pytest.raises(InputError, match="`weight` must be a direction in 1 dimensions"):
        data.population_partial_auc(torch.ones(2), Region())
