"""Initial values of the objective's variables, given to PAUCI and UPAUCI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from methods.training import fit, small_net

from pauc_lightning.errors import InputError
from pauc_lightning.methods import PAUCI, UPAUCI
from pauc_lightning.methods.minimax import MinimaxMethod


def make(method: type[MinimaxMethod], **settings: Any) -> MinimaxMethod:
    defaults = {"backbone": small_net(), "max_fpr": 0.3, "min_tpr": 0.5, "closed_form_start": False}
    return method(**{**defaults, **settings})


@pytest.mark.parametrize("method", [PAUCI, UPAUCI])
def test_the_variables_start_where_they_are_told_to(method: type[MinimaxMethod], tmp_path: Path) -> None:
    initial = {"a": 0.75, "b": 0.25, "gamma": -0.5, "s_neg": 1.5, "s_pos": -1.0}
    module = make(method, initial=initial, warmup_epochs=0, variable_lr=0.0, ascent_lr=0.0)
    assert {name: float(value) for name, value in module.objective.variables().items()} == initial
    fit(module, tmp_path, max_epochs=1, limit_train_batches=2, limit_val_batches=0)
    # With steps of length zero they are still there: nothing else has set them.
    assert {name: float(value) for name, value in module.objective.variables().items()} == initial


def test_stored_weights_start_where_they_are_told_to() -> None:
    module = make(UPAUCI, initial={"c": 0.25}, weights="ascent", train_size=7)
    assert module.objective.c.tolist() == [0.25] * 7  # type: ignore[operator]


@pytest.mark.parametrize(
    ("method", "settings", "said"),
    [
        (PAUCI, {"initial": {"a": 0.5}, "closed_form_start": True}, "closed_form_start: false"),
        (PAUCI, {"initial": {"alpha": 0.5}}, "alpha is not a variable here. Name some of a, b, gamma"),
        (PAUCI, {"initial": {"c": 0.5}}, "c is not a variable"),
        (UPAUCI, {"initial": {"c": 0.5}}, "c is not a variable"),
        (UPAUCI, {"initial": {"a": 2}}, "`a` must be a finite number in"),
        (UPAUCI, {"initial": {"s_pos": -1}, "min_tpr": 0.0}, "s_pos"),
    ],
)
def test_mistakes(method: type[MinimaxMethod], settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        make(method, **settings)
