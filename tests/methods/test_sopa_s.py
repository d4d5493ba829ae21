"""SOPA-S as a method: hand-computed steps, and the averaged gradient."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from methods.four_samples import STATE_SIZE, step_along, step_of, train
from methods.gaussian import REGIONS, Study
from torch import nn

from pauc_lightning import InputError
from pauc_lightning.methods import SOPAS
from pauc_lightning.region import Region

E = {loss: math.exp(loss / 0.5) for loss in (0.36, 0.49, 0.16, 0.25)}
U = {3: (E[0.36] + E[0.49]) / 2, 1: (E[0.16] + E[0.25]) / 2}


def test_one_way_step(tmp_path: Path) -> None:
    """λ = .5; losses .36, .49 of sample 3 and .16, .25 of sample 1, with slopes −2√loss."""
    module = train(SOPAS, tmp_path, max_fpr=0.5, lambda_=0.5)
    p = {(3, 0): E[0.36] / U[3], (3, 2): E[0.49] / U[3], (1, 0): E[0.16] / U[1], (1, 2): E[0.25] / U[1]}
    slope = {(3, 0): -1.2, (3, 2): -1.4, (1, 0): -0.8, (1, 2): -1.0}
    d = {pair: p[pair] * slope[pair] / 4 for pair in p}
    slopes = (d[3, 0] + d[3, 2], d[1, 0] + d[1, 2], -d[3, 0] - d[1, 0], -d[3, 2] - d[1, 2])
    assert step_of(module) == pytest.approx(step_along(*slopes), rel=1e-5)
    log_u = module.objective.state_dict()["log_u"].tolist()
    assert log_u == pytest.approx([-math.inf, math.log(U[1]), -math.inf, math.log(U[3]), -math.inf])
    assert float(module.diagnostics()["log_u"]) == pytest.approx(math.log(U[1] * U[3]) / 2)


def test_two_way_keeps_the_outer_average(tmp_path: Path) -> None:
    module = train(SOPAS, tmp_path, min_tpr=0.5, lambda_=0.5, tau=1.0)
    assert float(module.diagnostics()["log_w"]) == pytest.approx(
        math.log((U[1] ** 0.5 + U[3] ** 0.5) / 2), rel=1e-5
    )


def test_gradients_are_averaged_as_the_paper_writes_it() -> None:
    """v = G₁, then v ← .1 G₁ + .9 G₂: with G = 1, 3 and step .5 the weight goes down by .5 (1 + 2.8)."""
    backbone = nn.Linear(1, 1, bias=False)
    module = SOPAS(backbone=backbone, train_size=STATE_SIZE, learning_rate=0.5, weight_decay=0.0)
    optimizer, before = module.configure_method_optimizer(), backbone.weight.item()
    for gradient in (1.0, 3.0):
        backbone.weight.grad = torch.full_like(backbone.weight, gradient)
        optimizer.step()
    assert backbone.weight.item() == pytest.approx(before - 0.5 * (1 + 2.8))


def test_a_rate_of_zero_is_named() -> None:
    with pytest.raises(InputError, match=r"`gradient_rate` must be a finite number in \(0, 1\], got 0"):
        SOPAS(backbone=nn.Linear(1, 1), train_size=STATE_SIZE, gradient_rate=0)


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
def test_beats_cross_entropy_in_its_region(region: Region, study: Study) -> None:
    # Without a momentum of 0.9 steps are ten times smaller.
    study.check_gain(SOPAS, region, learning_rate=2.0)
