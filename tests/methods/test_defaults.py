"""One set of defaults: in the losses, the optimizers, the methods, the configuration files and the documentation."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from pauc_lightning import methods, objectives
from pauc_lightning.cli import main
from pauc_lightning.methods.minimax import MinimaxMethod
from pauc_lightning.optim import ASGDA, AGDSBCDOptimizer

ROOT = Path(__file__).parent.parent.parent
METHODS = sorted(set(methods.__all__) - {"PartialAUCModule"})

SHARED: dict[str, Any] = {
    "max_fpr": 0.3,
    "min_tpr": 0.0,
    "train_max_fpr": None,
    "train_min_tpr": None,
    "regions": None,
    "warmup_epochs": 10,
    "score": "sigmoid",
    "temperature": 1.0,
    "ce_weight": 0.0,
    "optimizer": "SGD",
    "optimizer_options": None,
    "learning_rate": 0.01,
    "momentum": 0.9,
    "weight_decay": 1e-4,
    "schedule": "constant",
    "gradient_clip_norm": None,
    "init_weights": None,
}
MINIMAX: dict[str, Any] = {
    **SHARED,
    "schedule": "cosine",
    "gradient_clip_norm": 1.0,
    "descent_lr": 0.5,
    "relative_step": 0.25,
    "variable_lr": 0.5,
    "ascent_lr": None,
    "k": 2.0,
    "m": 10.0,
    "iota_descent": 50.0,
    "iota_ascent": 50.0,
    "adaptive": False,
    "initial": None,
    "closed_form_start": True,
    "constraint": "projection",
}
ANNEALED = {"learning_rate": 0.1, "schedule": "cosine", "gradient_clip_norm": 1.0}
UPAUCI: dict[str, Any] = {**MINIMAX, "omega": 0.5, "weights": "closed_form", "c_step": 1.0}
SETTINGS: dict[str, dict[str, Any]] = {
    "agd_sbcd": {
        **SHARED,
        "inner_lr": 0.1,
        "threshold_lr": 0.1,
        "first_loop": 50,
        "mu": 1e3,
        "gamma": 1e3,
        "surrogate": "squared",
    },
    "auc_exp": {**SHARED, "gamma": 8.0, "unweighted_epochs": 3},
    "auc_m": {**SHARED, "closed_form_start": True},
    "auc_poly": {**SHARED, "gamma": 1.0, "unweighted_epochs": 3},
    "ce": SHARED,
    "ce_cosine": {**SHARED, "schedule": "cosine"},
    "hard_ce": {**SHARED, **ANNEALED, "memory": 20.0},
    "mb": {**SHARED, "surrogate": "squared"},
    "partial_auc": {**SHARED, **ANNEALED, "surrogate": "sigmoid", "score": None, "memory": 20.0},
    "pauci": {**MINIMAX, "kappa": 2.0, "omega": 0.0},
    "sopa": {
        **SHARED,
        "threshold_lr": 0.1,
        "outer_threshold_lr": 0.1,
        "dual_lr": 0.1,
        "surrogate": "squared",
    },
    "sopa_s": {
        **SHARED,
        "lambda_": 1.0,
        "tau": 1.0,
        "u_rate": 0.9,
        "w_rate": 0.9,
        "gradient_rate": 0.9,
        "surrogate": "squared",
    },
    "upauci": UPAUCI,
    "upauci_ascent": {**UPAUCI, "weights": "ascent"},
}
"""What `pauc fit -c digits -c <name>` trains with: the settings of the published results."""


def resolved(*arguments: str) -> dict[str, Any]:
    """The method's settings as ``--print_config`` shows them, without the backbone."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), pytest.raises(SystemExit):
        main(["fit", *arguments, "--print_config"])
    settings: dict[str, Any] = yaml.safe_load(text.getvalue())["model"]["init_args"]
    assert settings.pop("backbone")["class_path"] == "pauc_lightning.models.MLPScorer"
    return settings


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_shipped_configurations(name: str) -> None:
    assert resolved("-c", "digits", "-c", name) == SETTINGS[name]


@pytest.mark.parametrize(
    "arguments",
    [("-c", "pauci", "-c", "digits"), ("--data=DigitsLT", "--model.backbone=MLPScorer", "--model=PAUCI")],
    ids=["method-first", "backbone-before-the-method"],
)
def test_the_order_of_the_arguments_does_not_change_a_default(arguments: tuple[str, ...]) -> None:
    """Settings given before the method's name once brought the base class's defaults with them: no clipping."""
    assert resolved(*arguments) == SETTINGS["pauci"]


def defaults(maker: Any) -> dict[str, Any]:
    parameters = inspect.signature(maker).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


@pytest.mark.parametrize("method", METHODS)
def test_methods_inherit_the_defaults_of_their_losses(method: str) -> None:
    own, losses = defaults(getattr(methods, method)), defaults(getattr(objectives, f"{method}Loss"))
    shared = (own.keys() & losses.keys()) - {"prior", "train_size"}
    if method == "AGDSBCD":
        shared -= {"gamma"}
    assert {name: own[name] for name in shared} == {name: losses[name] for name in shared}


def test_methods_inherit_the_defaults_of_their_optimizers() -> None:
    own, asgda = defaults(MinimaxMethod), defaults(ASGDA)
    assert own["variable_lr"] == asgda["lr"]
    assert own["ascent_lr"] == asgda["lr_ascent"]
    for name in ("k", "m", "iota_descent", "iota_ascent"):
        assert own[name] == asgda[name]
    own, optimizer = defaults(methods.AGDSBCD), defaults(AGDSBCDOptimizer)
    assert (own["inner_lr"], own["mu"], own["gamma"]) == (
        optimizer["lr"],
        optimizer["mu"],
        optimizer["gamma"],
    )


def test_the_loop_of_the_documentation_trains_with_the_settings_of_the_configurations() -> None:
    """Step sizes are looked at before the first step; afterwards the schedule has changed them."""
    page = ROOT / "docs/methods/minimax.md"
    block = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)[0]
    setup, loop = block.split("\nfor epoch in", 1)
    namespace: dict[str, Any] = {}
    exec(compile(setup, str(page), "exec"), namespace)
    loss_fn, optimizer, settings = namespace["loss_fn"], namespace["optimizer"], SETTINGS["upauci"]
    assert {name: getattr(loss_fn, name) for name in ("omega", "weights", "c_step", "constraint")} == {
        name: settings[name] for name in ("omega", "weights", "c_step", "constraint")
    }
    network, variables, gamma = optimizer.param_groups
    assert (network["lr"], variables["lr"]) == (settings["descent_lr"], settings["variable_lr"])
    module = methods.UPAUCI(backbone=torch.nn.Linear(1, 1))
    assert gamma["lr"] == module.ascent_lr
    for group in (network, variables, gamma):
        assert (group["k"], group["m"]) == (settings["k"], settings["m"])
    assert network["iota"] == variables["iota"] == settings["iota_descent"]
    assert gamma["iota"] == settings["iota_ascent"]
    assert (network["weight_decay"], variables["weight_decay"]) == (settings["weight_decay"], 0.0)
    assert f"clip_grad_norm_(model.parameters(), {settings['gradient_clip_norm']})" in loop
    assert "CosineAnnealingLR" in setup
    assert settings["schedule"] == "cosine"
