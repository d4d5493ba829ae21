"""Hard CE: cross-entropy over the region's instances, computed by hand, by torch and by brute force."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from pauc_lightning.objectives import HardCELoss
from pauc_lightning.region import Region


def softplus(x: float) -> float:
    return math.log1p(math.exp(x))


def batch(ties: bool = False, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    target = (torch.arange(40) % 4 == 0).double()
    logits = 2 * torch.randn(40, generator=generator, dtype=torch.float64) + target
    return (logits.round() if ties else logits), target


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(
    "region", [Region(), Region(0.2), Region(0.2, 0.5), Region(0.6, 0.0, 0.2), Region(0.5, 0.3, 0.1)], ids=str
)
def test_mean_over_the_regions_instances(region: Region, ties: bool) -> None:
    logits, target = batch(ties)
    f_pos = sorted(logits[target == 1].tolist())[: round(10 * region.alpha)]
    f_neg = sorted(logits[target == 0].tolist(), reverse=True)
    f_neg = f_neg[round(30 * region.min_fpr) : round(30 * region.max_fpr)]
    expected = sum(softplus(-f) for f in f_pos) / len(f_pos) / 2 + sum(map(softplus, f_neg)) / len(f_neg) / 2
    loss = HardCELoss(region.max_fpr, region.min_tpr, min_fpr=region.min_fpr).double()
    loss.initialize_(logits, target)
    assert copy.deepcopy(loss).eval()(logits, target).item() == pytest.approx(expected, abs=1e-12)
    assert loss(logits, target).item() == pytest.approx(expected, abs=1e-12)


def test_on_all_instances_it_is_balanced_cross_entropy() -> None:
    logits, target = batch()
    weight = torch.where(target == 1, 0.5 / target.sum(), 0.5 / (1 - target).sum())
    expected = binary_cross_entropy_with_logits(logits, target, weight, reduction="sum")
    torch.testing.assert_close(HardCELoss(1.0)(logits, target), expected)


def test_gradient() -> None:
    """At thresholds of another batch; only the selected instances have one."""
    loss = HardCELoss(0.3, 0.4).double()
    loss.initialize_(*batch(seed=1))
    logits, target = batch()

    def value(f: Tensor) -> Tensor:
        result: Tensor = copy.deepcopy(loss)(f, target)
        return result

    assert torch.autograd.gradcheck(value, logits.requires_grad_())
    (gradient,) = torch.autograd.grad(value(logits), logits)
    thresholds = loss.variables()
    is_hard = torch.where(
        target == 1, logits < thresholds["threshold_at_min_tpr"], logits > thresholds["threshold_at_max_fpr"]
    )
    assert torch.equal(gradient != 0, is_hard)
