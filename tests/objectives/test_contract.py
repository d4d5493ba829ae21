"""What all losses have in common: how they are built and called, and what they say about themselves."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch import Tensor

from pauc_lightning import InputError, objectives
from pauc_lightning.objectives import CELoss, HardCELoss, Objective, PartialAUCLoss
from pauc_lightning.region import Region

LOSSES = [getattr(objectives, name) for name in objectives.__all__ if name.endswith("Loss")]
SCORES, TARGET, INDEX = torch.tensor([0.9, 0.4, 0.6, 0.1]), torch.tensor([1, 1, 0, 0]), torch.arange(4)


def build(loss: Any, max_fpr: float = 0.5, **settings: Any) -> Objective:
    """Any loss for a one-way region and six training samples, built alike."""
    if "train_size" in inspect.signature(loss).parameters:
        settings["train_size"] = 6
    objective: Objective = loss(max_fpr, 0.0, **settings)
    return objective


def test_there_are_twelve() -> None:
    assert len(LOSSES) == 12
    assert all(issubclass(loss, Objective) for loss in LOSSES)


@pytest.mark.parametrize("loss", LOSSES)
def test_constructors_agree(loss: type[Objective]) -> None:
    names = list(inspect.signature(loss).parameters.values())
    assert [p.name for p in names[:2]] == ["max_fpr", "min_tpr"]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in names[2:])
    shared = [p.name for p in names[2:] if p.name in ("train_size", "prior")]
    assert [p.name for p in names[2 : 2 + len(shared)]] == shared == sorted(shared, reverse=True)
    assert build(loss).region == Region(0.5)


@pytest.mark.parametrize("loss", LOSSES)
def test_calls_agree(loss: type[Objective]) -> None:
    """One call for all, in the same order; a normalizer halves a sum over samples and leaves a mean over pairs."""
    objective = build(loss)
    once = objective(SCORES, TARGET, INDEX, 4.0)
    assert once.shape == ()
    other = build(loss)(SCORES, TARGET, index=INDEX, normalizer=8.0)
    if objective.exchanges_scores:
        assert other == once
    else:
        assert other.item() == pytest.approx(once.item() / 2)  # γ and α are 0
    objective.initialize_(SCORES, TARGET, INDEX)
    assert all(value.ndim == 0 and not value.requires_grad for value in objective.variables().values())
    grouped = [p for group in objective.param_groups(lr=0.1, lr_ascent=0.2) for p in group["params"]]
    assert {*map(id, grouped)} == {*map(id, objective.parameters())}


@pytest.mark.parametrize("loss", LOSSES)
def test_state_per_sample_needs_an_index(loss: type[Objective]) -> None:
    objective = build(loss)
    assert objective.needs_index == bool(objective.per_instance_buffers)
    sized = {name for name, buffer in objective.named_buffers() if buffer.shape == (6,)}
    assert {*objective.per_instance_buffers} == sized


@pytest.mark.parametrize("loss", LOSSES)
def test_docstrings_have_a_reference_and_advice(loss: type[Objective]) -> None:
    text = inspect.getdoc(loss) or ""
    assert "Tuning:" in text
    if loss is not CELoss:
        assert "https://" in text


def test_which_take_logits_unless_told_otherwise() -> None:
    logits = {loss for loss in LOSSES if build(loss).takes == "logits"}
    assert logits == {CELoss, HardCELoss, PartialAUCLoss}
    assert all(build(loss).needs_unit_scores == (loss not in logits) for loss in LOSSES)


def test_a_new_loss_writes_one_method() -> None:
    class Brier(Objective):
        def loss(self, f: Tensor, y: Tensor, index: Tensor | None, normalizer: Tensor | float) -> Tensor:
            return (f - y).square().sum() / normalizer

    brier = Brier(Region())
    assert brier(SCORES, TARGET).item() == pytest.approx((0.01 + 0.36 + 0.36 + 0.01) / 4)
    assert brier(SCORES, TARGET, normalizer=8.0).item() == pytest.approx(0.74 / 8)
    with pytest.raises(InputError, match=r"`scores` must be in \[0, 1\]"):
        brier(SCORES * 9, TARGET)
    assert not brier.variables()
    assert brier.param_groups() == []
