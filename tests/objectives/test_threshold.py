"""The tracked threshold: which fraction of the population it selects, how it follows, and what it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from pauc_lightning.errors import InputError
from pauc_lightning.objectives.threshold import TrackedThreshold


def visit(threshold: TrackedThreshold, scores: Tensor) -> float:
    """One batch; the threshold at which its loss would be computed."""
    begun = threshold.start_(scores)
    value = threshold.value.item()
    threshold.move_(begun)
    return value


def above(value: float) -> float:
    """The fraction of a standard normal distribution above ``value``."""
    return 0.5 * math.erfc(value / math.sqrt(2))


@pytest.mark.parametrize(
    ("rate", "size", "batch_rate"),
    [(0.05, 8, 1 / 9), (0.01, 32, 1 / 33), (0.3, 5, 1 / 6), (0.05, 400, 20 / 401), (0.9, 12, 10 / 13)],
)
def test_the_selected_fraction_is_that_of_the_population(rate: float, size: int, batch_rate: float) -> None:
    """Where ``batch_rate`` of the population exceeds the batch's own quantile on average, by theory and here."""
    generator = torch.Generator().manual_seed(0)
    threshold = TrackedThreshold(rate).double()
    tracked, own = [], []
    for step in range(2500):
        scores = torch.randn(size, generator=generator, dtype=torch.float64)
        value = visit(threshold, scores)
        if step >= 300:
            tracked.append(above(value))
            own.append(above(float(scores.sort(descending=True).values[max(int(rate * size), 1) - 1])))
    assert np.mean(own) == pytest.approx(batch_rate, rel=0.08)
    assert np.mean(tracked) == pytest.approx(rate, rel=0.08)
    assert np.std(tracked) < 0.25 * min(rate, 1 - rate)


def test_a_step_by_hand() -> None:
    """t = 2.5, e = std = √1.25; then two of four are above t where one is expected: e·(2 − 1)/(20 + 1)."""
    threshold = TrackedThreshold(0.25).double()
    visit(threshold, torch.tensor([0.0, 1.0, 2.0, 3.0], dtype=torch.float64))
    scale = math.sqrt(1.25)
    assert threshold.value.item() == 2.5
    assert threshold.scale.item() == pytest.approx(scale + (0.5 - scale) / 21)  # one excess, 3 − 2.5
    scale = threshold.scale.item()
    visit(threshold, torch.tensor([3.0, 5.0, 0.0, -1.0], dtype=torch.float64))
    assert threshold.value.item() == pytest.approx(2.5 + scale / 21)
    assert threshold.scale.item() == pytest.approx(scale + ((0.5 + 2.5) / 2 - scale) * 2 / 22)
    value, scale = threshold.value.item(), threshold.scale.item()
    visit(threshold, torch.tensor([1.0, 0.0, 0.0, -1.0], dtype=torch.float64))  # none is above t
    assert threshold.value.item() == pytest.approx(value - scale / 21)
    assert threshold.scale.item() == pytest.approx(scale + ((value - 1) / math.log(2) - scale) / 21)


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e4])
def test_the_unit_of_the_scores_does_not_matter(factor: float) -> None:
    generator = torch.Generator().manual_seed(1)
    batches = torch.randn(50, 64, generator=generator, dtype=torch.float64)
    plain, scaled = TrackedThreshold(0.1).double(), TrackedThreshold(0.1).double()
    for scores in batches:
        assert visit(scaled, scores * factor - 7) == pytest.approx(visit(plain, scores) * factor - 7)


@pytest.mark.parametrize("rate", [0.05, 0.8])
@pytest.mark.parametrize("size", [16, 512])
def test_it_follows_scores_that_drift_and_change_their_scale(rate: float, size: int) -> None:
    """One standard deviation in 200 batches, down and up, while the scores shrink to a tenth and grow again."""
    generator = torch.Generator().manual_seed(2)
    threshold = TrackedThreshold(rate).double()
    mean = 0.0
    for direction in (-1, 1):
        fractions = []
        for step in range(1500):
            spread = 10 ** (-2 * abs(step / 1500 - 0.5))
            mean += direction * spread / 200
            scores = mean + spread * torch.randn(size, generator=generator, dtype=torch.float64)
            fractions.append(above((visit(threshold, scores) - mean) / spread))
        assert np.mean(fractions[200:]) == pytest.approx(rate, rel=0.35)


@pytest.mark.parametrize("jump", [-1e4, 1e4])
@pytest.mark.parametrize("size", [16, 512])
def test_it_recovers_from_a_jump(jump: float, size: int) -> None:
    """Ten thousand standard deviations in one step, as after a broken batch; also with many equal scores before."""
    generator = torch.Generator().manual_seed(3)
    threshold = TrackedThreshold(0.1).double()
    for _ in range(300):
        visit(threshold, torch.ones(size, dtype=torch.float64))
    assert threshold.value.item() == 1.0
    for _ in range(1000):
        value = visit(threshold, jump + torch.randn(size, generator=generator, dtype=torch.float64))
    assert above(value - jump) == pytest.approx(0.1, rel=0.5)


def test_batches_that_change_nothing() -> None:
    """An empty batch, before and after the start; infinities that arise from finite scores."""
    threshold = TrackedThreshold(0.5)
    visit(threshold, torch.empty(0))
    assert threshold.scale.item() == 0
    threshold.set_(torch.tensor([-1.0, 1.0]))
    before = {name: value.clone() for name, value in threshold.state_dict().items()}
    visit(threshold, torch.empty(0))
    visit(threshold, torch.tensor([3e38, 3e38, 3e38, -3e38]))
    torch.testing.assert_close(threshold.state_dict(), before)


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.51, 0.75, 0.9])
@pytest.mark.parametrize("has_ties", [False, True])
def test_set_is_a_quantile(rate: float, has_ties: bool) -> None:
    """At most rn scores are above, and at least rn are not below."""
    scores = torch.randn(23, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    scores = scores.round() if has_ties else scores
    threshold = TrackedThreshold(rate).double()
    threshold.set_(scores)
    assert (scores > threshold.value).sum() <= rate * 23 <= (scores >= threshold.value).sum()


def test_bad_memory() -> None:
    with pytest.raises(InputError, match="`memory` must be a finite number above 0, got 0"):
        TrackedThreshold(0.1, memory=0)
