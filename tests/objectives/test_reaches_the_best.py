"""On a mixture whose best linear score is known, PAUCI and UPAUCI find it, and cross-entropy does not.

Thirty runs: two methods with the settings that are shipped, three regions, five seeds, each from its own sample,
initial weights and warm-up. The steps are written out here, as a user without Lightning would write them.
"""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor, nn

from pauc_lightning import Region, methods
from pauc_lightning.data import GaussianLT
from pauc_lightning.methods.minimax import MinimaxMethod
from pauc_lightning.optim import ASGDA

CONFIGS = Path(__file__).parent.parent.parent / "configs/method"
SEEDS = range(5)
REGIONS = [Region(max_fpr=0.1), Region(max_fpr=0.3), Region(max_fpr=0.3, min_tpr=0.7)]
BEST = {region: GaussianLT().best_linear(region)[1] for region in REGIONS}
STEPS = 600


class Problem:
    """A sample of the mixture, and a linear score after a warm-up with cross-entropy."""

    def __init__(self, seed: int) -> None:
        self.data = GaussianLT(batch_size=1024, seed=seed)
        sample = self.data.dataset("train").__getitems__(range(self.data.train_size))
        self.inputs, self.target = self.data.eval_transform(sample.input), sample.target
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.scorer = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(self.scorer.parameters(), lr=0.5, momentum=0.9)
        for _ in range(300):
            optimizer.zero_grad()
            logits = self.scorer(self.inputs).squeeze(1)
            nn.functional.binary_cross_entropy_with_logits(logits, self.target.float()).backward()
            optimizer.step()

    def shortfall(self, scorer: nn.Linear, region: Region) -> float:
        """How far the scorer's exact partial AUC is below the best of all directions."""
        weight = scorer.weight.detach().squeeze(0).double()
        return BEST[region] - self.data.population_partial_auc(weight, region)


@pytest.fixture(scope="module")
def problems() -> list[Problem]:
    return [Problem(seed) for seed in SEEDS]


def train(problem: Problem, name: str, region: Region, **options: Any) -> tuple[nn.Linear, Tensor]:
    """A shipped method's objective and optimizer from the warm-up; the scorer and its scores."""
    scorer = copy.deepcopy(problem.scorer)
    shipped = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())["model"]
    settings = {**shipped.get("init_args", {}), "max_fpr": region.max_fpr, "min_tpr": region.min_tpr}
    method = getattr(methods, shipped["class_path"])(
        backbone=scorer, prior=problem.data.prior, weight_decay=0.0, **settings, **options
    )
    assert isinstance(method, MinimaxMethod)
    objective, optimizer = method.objective, method.configure_method_optimizer()
    assert isinstance(optimizer, ASGDA)
    with torch.no_grad():
        objective.initialize_(scorer(problem.inputs).squeeze(1).sigmoid(), problem.target)
    assert method.schedule == "cosine"
    clip_norm = method.gradient_clip_norm
    assert clip_norm is not None
    full_sizes = [group["lr"] for group in optimizer.param_groups]
    sampler = problem.data.batch_sampler()
    step = epoch = 0
    while step < STEPS:
        sampler.set_epoch(epoch)
        epoch += 1
        for members in sampler:
            inputs, target = problem.inputs[members], problem.target[members]

            def closure(inputs: Tensor = inputs, target: Tensor = target) -> Tensor:
                optimizer.zero_grad()
                loss: Tensor = objective(scorer(inputs).squeeze(1).sigmoid(), target)
                loss.backward()
                nn.utils.clip_grad_norm_(scorer.parameters(), clip_norm)
                return loss

            for group, full_size in zip(optimizer.param_groups, full_sizes, strict=True):
                group["lr"] = full_size * (1 + math.cos(math.pi * min(1, step / STEPS))) / 2
            optimizer.step(closure)
            step += 1
    with torch.no_grad():
        return scorer, scorer(problem.inputs).squeeze(1).sigmoid()


def test_cross_entropy_falls_short(problems: list[Problem]) -> None:
    for problem in problems:
        gaps = [problem.shortfall(problem.scorer, region) for region in REGIONS]
        assert gaps[0] > 0.03
        assert gaps[1] > 0.02
        assert gaps[2] > 0.1


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
@pytest.mark.parametrize("method", ["pauci", "upauci"])
def test_within_three_thousandths_of_the_best(method: str, region: Region, problems: list[Problem]) -> None:
    for seed, problem in enumerate(problems):
        scorer, scores = train(problem, method, region)
        assert problem.shortfall(scorer, region) < 0.003, f"seed {seed}"
        positive, negative = scores[problem.target == 1], scores[problem.target == 0]
        assert float(positive.mean() - negative.mean()) > 0.3, f"collapsed with seed {seed}"


@pytest.mark.parametrize("region", REGIONS, ids=lambda region: region.name)
@pytest.mark.parametrize("method", ["pauci", "upauci"])
def test_adaptive_steps_reach_it_as_well(method: str, region: Region, problems: list[Problem]) -> None:
    for problem in problems[:2]:
        scorer, _ = train(problem, method, region, adaptive=True, descent_lr=0.03, variable_lr=0.5)
        assert problem.shortfall(scorer, region) < 0.003
