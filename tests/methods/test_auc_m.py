"""AUC-M as a method: who descends, who ascends, where the variables start."""

from __future__ import annotations

from pathlib import Path

import pytest
from methods.four_samples import step_along, step_of, train
from methods.gaussian import Study
from torch import nn

from pauc_lightning.methods import AUCM
from pauc_lightning.region import Region


def test_first_step(tmp_path: Path) -> None:
    """At a = b = alpha = 0 and p = .5 the batch mean is that of (f² ∓ 2f)/2; − for positives."""
    module = train(AUCM, tmp_path, prior=0.5, closed_form_start=False)
    slopes = [(f - 1) / 4 for f in (0.6, 0.8)] + [(f + 1) / 4 for f in (0.2, 0.3)]
    assert step_of(module) == pytest.approx(step_along(*slopes), rel=1e-5)
    values = {name: float(value) for name, value in module.diagnostics().items()}
    # a and b go down their slopes −Σf⁺/4 and −Σf⁻/4, alpha goes up its slope (Σf⁻ − Σf⁺)/4
    assert values == pytest.approx({"a": 1.4 / 4, "b": 0.5 / 4, "alpha": -0.9 / 4})


def test_variables_start_at_their_optimum(tmp_path: Path) -> None:
    module = train(AUCM, tmp_path, learning_rate=0.0)
    values = {name: float(value) for name, value in module.diagnostics().items()}
    assert values == pytest.approx({"a": 0.7, "b": 0.25, "alpha": -0.45})


def test_only_the_backbone_decays() -> None:
    module = AUCM(backbone=nn.Linear(1, 1), learning_rate=0.3, momentum=0.4, weight_decay=0.2)
    groups = module.configure_method_optimizer().param_groups
    settings = [
        (group["lr"], group["momentum"], group["weight_decay"], group["maximize"]) for group in groups
    ]
    assert settings == [(0.3, 0.4, 0.2, False), (0.3, 0.4, 0.0, False), (0.3, 0.4, 0.0, True)]


def test_reaches_the_best_auc(study: Study) -> None:
    weight = study.train(AUCM, Region(), learning_rate=0.5)
    best = study.data.best_linear(Region())[1]
    assert study.value(weight, Region()) > best - 0.0002
    assert study.value(study.cross_entropy, Region()) < best - 0.005
