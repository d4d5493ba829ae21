"""CE as a method: a hand-computed step, and scores at which only logits are safe."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from methods.four_samples import SCORES, TARGET, step_of, train

from pauc_lightning.methods import CE
from pauc_lightning.objectives import CELoss


def test_step(tmp_path: Path) -> None:
    """The derivative by a logit is (f − y)/4."""
    module = train(CE, tmp_path)
    loss = -(math.log(0.6) + math.log(0.8) + math.log(0.8) + math.log(0.7)) / 4
    assert float(module.trainer.callback_metrics["train/loss"]) == pytest.approx(loss)
    step = sum((f - y) * math.log(f / (1 - f)) for f, y in zip(SCORES, TARGET, strict=True)) / 4
    assert step_of(module) == pytest.approx(step, rel=1e-5)


def test_there_is_no_warm_up_besides_the_method(tmp_path: Path) -> None:
    assert step_of(train(CE, tmp_path, warmup_epochs=1)) == step_of(train(CE, tmp_path))


def test_certain_mistakes_have_a_finite_loss_and_a_gradient() -> None:
    logits = torch.tensor([-200.0, 200.0], requires_grad=True)  # the sigmoid is 0 and 1 in float32
    loss = CELoss()(logits, torch.tensor([1, 0]))
    loss.backward()
    assert loss.item() == 200
    assert logits.grad is not None
    assert logits.grad.tolist() == [-0.5, 0.5]
