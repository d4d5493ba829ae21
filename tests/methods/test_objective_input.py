"""What the objective sees: the training region, the temperature, logits, and the mixture with cross-entropy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from methods.training import digits, fit, small_net
from torch import Tensor

from pauc_lightning import InputError
from pauc_lightning import methods as all_methods
from pauc_lightning.data.sample import Sample
from pauc_lightning.methods import CE, MB, PAUCI, UPAUCI, PartialAUCModule
from pauc_lightning.methods.temperature import SMALLEST, fitting_temperature
from pauc_lightning.region import Region

METHODS = sorted(set(all_methods.__all__) - {"PartialAUCModule"})


def build(method: str, **settings: Any) -> PartialAUCModule:
    module: PartialAUCModule = getattr(all_methods, method)(
        backbone=torch.nn.Identity() if "backbone" not in settings else settings.pop("backbone"),
        train_size=40,
        prior=0.25,
        **settings,
    )
    return module


def batch(seed: int = 0) -> Sample:
    generator = torch.Generator().manual_seed(seed)
    logits = 4 * torch.randn(40, generator=generator, dtype=torch.float64)
    return Sample(logits.requires_grad_(), (torch.arange(40) % 4 == 0).long(), torch.arange(40))


def evaluate(module: PartialAUCModule, sample: Sample) -> tuple[float, Tensor]:
    """The loss, and its gradient with respect to the logits: the backbone is the identity."""
    (input,) = (sample.input,)
    loss = module.double()._evaluate_method(Sample(input, sample.target, sample.index), is_first=True).loss
    (gradient,) = torch.autograd.grad(loss, input)
    return float(loss), gradient


@pytest.mark.parametrize("weight", [0.3, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_the_mixture_is_the_sum_of_its_parts(method: str, weight: float) -> None:
    sample = batch()
    alone, cross_entropy = evaluate(build(method), sample), evaluate(build("CE"), sample)
    loss, gradient = evaluate(build(method, ce_weight=weight), sample)
    assert loss == pytest.approx((1 - weight) * alone[0] + weight * cross_entropy[0], rel=1e-9)
    torch.testing.assert_close(gradient, (1 - weight) * alone[1] + weight * cross_entropy[1])


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"CE"}))
def test_the_objective_sees_the_sigmoid_of_cooled_logits(method: str) -> None:
    sample = batch()
    assert sample.input.requires_grad
    cooled = Sample((sample.input.detach() / 3).requires_grad_(), sample.target, sample.index)
    if build(method).objective.takes == "logits":
        pytest.skip("it has no sigmoid")
    loss, gradient = evaluate(build(method, temperature=3.0), sample)
    expected, plain = evaluate(build(method), cooled)
    assert loss == pytest.approx(expected, rel=1e-12)
    torch.testing.assert_close(gradient, plain / 3)


def test_reported_scores_do_not_depend_on_the_temperature() -> None:
    sample = batch()
    module = build("UPAUCI", temperature=5.0).double()
    evaluation = module._evaluate_method(sample, is_first=True)
    torch.testing.assert_close(evaluation.scores, sample.input.detach().sigmoid())
    torch.testing.assert_close(module._last_batch[0], (sample.input.detach() / 5).sigmoid())  # type: ignore[index]


def test_logits_for_a_loss_that_takes_them(tmp_path: Path) -> None:
    sample = batch()
    module = build("MB", score="logit", surrogate="logistic", max_fpr=0.5)
    z, y = sample.input.detach().numpy(), sample.target.numpy()
    hardest = np.sort(z[y == 0])[::-1][:15]
    expected = np.log1p(np.exp(-(z[y == 1][:, None] - hardest[None, :]))).mean()
    assert evaluate(module, sample)[0] == pytest.approx(expected, rel=1e-9)
    for refused in (MB(backbone=small_net(), score="logit"), UPAUCI(backbone=small_net(), score="logit")):
        with pytest.raises(
            InputError, match=r"`score` must be sigmoid for (MB|UPAUCI), .* got 'logit': leave it out"
        ):
            fit(refused, tmp_path, max_steps=1)
    fit(MB(backbone=small_net(), score="logit", surrogate="logistic", warmup_epochs=0), tmp_path, max_steps=1)


@pytest.mark.parametrize("method", METHODS)
def test_the_loss_has_a_region_of_its_own(method: str) -> None:
    module = build(method, max_fpr=0.1, train_max_fpr=0.5)
    assert (module.region, module.train_region) == (Region(0.1), Region(0.5))
    assert module.objective.region == Region(0.5)
    assert Region(0.1) in module.reported_regions()
    assert evaluate(module, batch())[0] == evaluate(build(method, max_fpr=0.5), batch())[0]
    if method != "AGDSBCD":
        two_way = build(method, max_fpr=0.1, min_tpr=0.8, train_min_tpr=0.5)
        assert two_way.objective.region == Region(0.1, 0.5)


def test_a_wider_region_changes_the_loss() -> None:
    narrow, wide = (
        evaluate(build("MB", max_fpr=0.1, train_max_fpr=rate), batch())[0] for rate in (None, 0.5)
    )
    assert wide < narrow


@pytest.mark.parametrize("region", [Region(0.2), Region(0.3, 0.5), Region()])
@pytest.mark.parametrize("scale", [0.1, 3.0, 40.0])
def test_the_temperature_that_fits(region: Region, scale: float) -> None:
    rng = np.random.default_rng(0)
    z, y = scale * rng.standard_normal(999), rng.random(999) < 0.2
    n_pos, _, n_neg = region.counts(int(y.sum()), int((~y).sum()))
    members = np.concatenate([np.sort(z[y])[:n_pos], np.sort(z[~y])[::-1][:n_neg]])
    got = fitting_temperature(torch.tensor(z), torch.tensor(y).long(), region)
    if got == SMALLEST:
        assert np.quantile(np.abs(members), 0.9) < 3 * SMALLEST * 1.1
        return
    inside = (np.abs(members) <= 3 * got * (1 + 1e-6)).mean()
    assert 0.9 <= inside < 0.9 + 2 / len(members)


def test_auto_is_chosen_from_the_training_set_and_kept(tmp_path: Path) -> None:
    data = digits()
    module = PAUCI(
        backbone=small_net(),
        warmup_epochs=1,
        temperature="auto",
        max_fpr=0.2,
        train_max_fpr=0.5,
        learning_rate=0.5,
    )
    seen: list[Tensor] = []
    initialize = module.initialize_objective

    def spy(scores: Tensor, target: Tensor, index: Tensor) -> None:
        seen.append(scores)
        sample = data.dataset("train").__getitems__(index.tolist())
        logits = module.backbone.eval()(data.eval_transform(sample.input)).squeeze(1)
        module.backbone.train()
        assert module.temperature == fitting_temperature(logits, target, Region(0.5))
        torch.testing.assert_close(scores, (logits / module.temperature).sigmoid())
        initialize(scores, target, index)

    module.initialize_objective = spy  # type: ignore[method-assign]
    fit(module, tmp_path, data, max_epochs=3)
    assert len(seen) == 1
    chosen = module.temperature
    assert chosen != 1
    state = torch.load(tmp_path / "last.ckpt", weights_only=True)["state_dict"]
    assert float(state["auto_temperature"]) == chosen
    assert "auto_temperature" not in CE(backbone=small_net()).state_dict()
