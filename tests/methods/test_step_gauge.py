"""The measured step size: against hand computation, free of scale, and without a trace in the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from methods.training import digits, fit, small_net
from torch import Tensor, nn

from pauc_lightning.data.sample import Sample
from pauc_lightning.methods import PAUCI, UPAUCI
from pauc_lightning.methods.step_gauge import N_BATCHES, StepGauge
from pauc_lightning.optim import ASGDA


def linear(x: Tensor, weight: Tensor, gradient: Tensor, clip: float | None, max_fpr: float = 0.5) -> UPAUCI:
    net = nn.Linear(x.shape[1], 1, bias=False).double()
    with torch.no_grad():
        net.weight.copy_(weight)
    net.weight.grad = gradient.clone()[None]
    module = UPAUCI(backbone=net, max_fpr=max_fpr, descent_lr="auto", gradient_clip_norm=clip)
    module.double()
    return module


class Placed(UPAUCI):
    """A method outside a Trainer."""

    global_step = 0
    global_rank = 0


@pytest.mark.parametrize("clip", [1.0, 0.2, None])
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_the_step_size_by_brute_force_over_pairs(clip: float | None, scale: float) -> None:
    rng = np.random.default_rng(0)
    x, w, g = (
        scale * rng.standard_normal((50, 4)),
        2 * rng.standard_normal(4) / scale,
        0.1 * rng.standard_normal(4),
    )
    y = np.arange(50) % 5 == 0
    module = linear(torch.tensor(x), torch.tensor(w), torch.tensor(g), clip)
    module.__class__ = Placed
    assert module.step_gauge is not None
    module.step_gauge.measure(module, Sample(torch.tensor(x), torch.tensor(y).long(), None))

    z = x @ w
    step = x @ (g if clip is None else g * clip / np.linalg.norm(g))
    negatives = np.flatnonzero(~y)[np.argsort(-z[~y])[:20]]
    gaps = [z[i] - z[j] for i in np.flatnonzero(y) for j in negatives]
    changes = [step[i] - step[j] for i in np.flatnonzero(y) for j in negatives]
    assert np.std(gaps) > 2
    expected = 0.25 * np.std(gaps) / np.sqrt(np.mean(np.square(changes)))
    assert module.step_gauge.step_size == pytest.approx(expected, rel=1e-5)
    assert np.array_equal(module.backbone.get_parameter("weight").detach().numpy()[0], w)


def test_nearly_equal_scores_count_as_two_logits_apart() -> None:
    x, y = torch.tensor([[1.0], [-1.0], [0.5], [-0.5]]).double(), torch.tensor([1, 0, 1, 0])
    sizes = []
    for weight in (1e-3, 1e-6):
        module = linear(x, torch.tensor([weight]), torch.tensor([1.0]).double(), 1.0)
        module.__class__ = Placed
        assert module.step_gauge is not None
        module.step_gauge.measure(module, Sample(x, y, None))
        sizes.append(module.step_gauge.step_size)
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-6)
    assert sizes[0] > 0.1


@pytest.mark.parametrize("what", ["one class", "no gradient", "gradient not finite", "gaps do not move"])
def test_a_batch_that_says_nothing_is_left_out(what: str) -> None:
    x, y = torch.tensor([[1.0], [-1.0]]).double(), torch.tensor([1, 0])
    module = linear(x, torch.tensor([1.0]), torch.tensor([1.0]).double(), 1.0)
    module.__class__ = Placed
    weight = module.backbone.get_parameter("weight")
    if what == "one class":
        y = torch.ones(2, dtype=torch.long)
    elif what == "no gradient":
        weight.grad = None
    elif what == "gradient not finite":
        weight.grad = torch.full_like(weight, torch.inf)
    else:
        x = torch.ones(2, 1).double()
    assert module.step_gauge is not None
    module.step_gauge.measure(module, Sample(x, y, None))
    assert module.step_gauge.step_size == 0
    assert not module.step_gauge.is_done


def test_inputs_in_other_units_lead_to_the_same_scores(tmp_path: Path) -> None:
    """A linear score of inputs ten times as large, from weights a tenth as large, trains alike."""
    scores = []
    for unit in (1.0, 10.0):

        class InUnits(nn.Module):
            def __init__(self, unit: float) -> None:
                super().__init__()
                self.unit = unit
                self.layer = nn.Linear(64, 1, bias=False)
                with torch.no_grad():
                    self.layer.weight.copy_(small_net()[1].weight[:1] / unit)  # type: ignore[index]

            def forward(self, input: Tensor) -> Tensor:
                out: Tensor = self.layer(self.unit * input.flatten(1))
                return out

        # The gradients are longer than 1 in both units, so that all steps are full ones.
        module = UPAUCI(
            backbone=InUnits(unit),
            warmup_epochs=0,
            descent_lr="auto",
            weight_decay=0.0,
            gradient_clip_norm=1e-3,
        )
        fit(module, tmp_path, max_epochs=2, precision="64-true")
        input = digits().dataset("train").__getitems__(list(range(50))).input
        scores.append(module.backbone(digits().eval_transform(input).double()).squeeze(1).detach())
    torch.testing.assert_close(scores[0], scores[1], rtol=1e-4, atol=1e-4)


def spied(module: PAUCI, sizes: list[float]) -> PAUCI:
    """Writes down the step sizes of the network."""
    before = module.before_loss

    def before_loss(*batch: Any) -> None:
        before(*batch)
        optimizer = module.trainer.optimizers[-1]
        assert isinstance(optimizer, ASGDA)
        sizes.append(optimizer.param_groups[0]["lr"])

    module.before_loss = before_loss  # type: ignore[method-assign, assignment]
    return module


def test_the_gauge_settles_after_the_first_batches_and_the_variables_keep_their_steps(tmp_path: Path) -> None:
    sizes: list[float] = []
    module = spied(
        PAUCI(
            backbone=small_net(), warmup_epochs=1, descent_lr="auto", learning_rate=0.1, schedule="constant"
        ),
        sizes,
    )
    fit(module, tmp_path, max_epochs=4)
    assert len(sizes) == 30
    assert sizes[0] == 0
    assert len(set(sizes[1 : N_BATCHES + 1])) == N_BATCHES
    assert len(set(sizes[N_BATCHES:])) == 1
    gauge = module.step_gauge
    assert gauge is not None
    assert gauge.step_size == sizes[-1] == module.trainer.optimizers[1].param_groups[0]["lr"]
    assert module.trainer.optimizers[1].param_groups[1]["lr"] == 0.5
    assert float(module.trainer.callback_metrics["train/descent_lr"]) == pytest.approx(sizes[-1])


def test_a_second_fit_goes_on_with_the_measured_step_size(tmp_path: Path) -> None:
    module = PAUCI(backbone=small_net(), warmup_epochs=0, descent_lr="auto")
    fit(module, tmp_path, max_epochs=2)
    assert module.step_gauge is not None
    measured = module.step_gauge.step_size
    sizes: list[float] = []
    fit(spied(module, sizes), tmp_path, max_epochs=1)
    assert sizes[0] == measured > 0


def test_a_number_needs_no_gauge(tmp_path: Path) -> None:
    module = PAUCI(backbone=small_net(), descent_lr=0.3, variable_lr=None)
    assert module.step_gauge is None
    assert (module.variable_lr, module.ascent_lr) == (0.3, 0.3 / 16)
    assert not [key for key in module.state_dict() if "gauge" in key]
    assert PAUCI(backbone=small_net(), descent_lr="auto", variable_lr=None).variable_lr == 0.5


def test_loading_a_state_changes_the_step_size() -> None:
    first, second = StepGauge(0.5), StepGauge(0.5)
    first.totals.copy_(torch.tensor([6.0, 2.0, 3.0]))
    assert second.step_size == 0
    second.load_state_dict(first.state_dict())
    assert second.step_size == 1.5
    assert not second.is_done
