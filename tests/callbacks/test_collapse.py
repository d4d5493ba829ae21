"""A run that has collapsed says so, once and with the remedy; a healthy one does not."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from methods.training import digits, fit, small_net, trainer
from torch import Tensor, nn

from pauc_lightning import Region
from pauc_lightning.callbacks import CollapseMonitor
from pauc_lightning.methods import CE, PAUCI, UPAUCI
from pauc_lightning.methods.minimax import MinimaxMethod
from pauc_lightning.methods.ranking import Ranking
from pauc_lightning.metrics.functional import binary_partial_auc


def collapses_said(calls: Iterable[Callable[[], None]]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for call in calls:
            call()
    messages = (str(warning.message) for warning in caught)
    return [message for message in messages if "has collapsed" in message]


def test_a_network_without_weights_says_so_once(tmp_path: Path) -> None:
    net = small_net()
    nn.init.zeros_(net.get_parameter("3.weight"))
    module = CE(backbone=net, learning_rate=0.0)
    said = collapses_said(
        [partial(fit, module, tmp_path, max_epochs=1, limit_val_batches=0, callbacks=[CollapseMonitor()])]
    )
    assert len(said) == 1
    assert "all scores of the batch are" in said[0]


def test_a_network_that_says_nothing_is_worth_what_the_diagonal_leaves(tmp_path: Path) -> None:
    """What selects the best epoch must not prefer a collapsed one: no region gives it 0.5."""
    net = small_net()
    nn.init.zeros_(net.get_parameter("3.weight"))
    module = CE(backbone=net, max_fpr=0.3, regions=[Region(0.05), Region(0.3, 0.7)])
    run = trainer(tmp_path)
    run.validate(module, datamodule=(data := digits()), verbose=False)
    n_neg = int((data.dataset("val").targets == 0).sum())
    logged = {name: float(value) for name, value in run.callback_metrics.items()}
    assert logged["val/pauc"] == pytest.approx(math.floor(0.3 * n_neg) / (2 * n_neg))
    assert logged["val/opauc_fpr0.05"] == pytest.approx(math.floor(0.05 * n_neg) / (2 * n_neg))
    assert logged["val/tpauc_fpr0.3_tpr0.7"] == 0
    assert logged["val/auc"] == 0.5
    constant = Ranking.of(torch.full((40,), 0.5), LABELS)
    assert constant == Ranking(0.5, 20, 20)
    assert not constant.is_clearly_above_chance


LABELS = torch.arange(40) % 2
RANKED = 0.9 + 0.05 * LABELS
UNRANKED = torch.linspace(0.998, 1.0, 40).flip(0) - 1e-4 * LABELS
"""As ResNet-18 once ended: scores that differ, between 0.998 and 1, with negatives above positives."""


def looks(monitor: CollapseMonitor, batches: Iterable[Tensor], **at_bound: bool) -> list[str]:
    bounds = {name: torch.tensor(stuck) for name, stuck in at_bound.items()}
    return collapses_said(
        partial(monitor.look, 10 * step, scores, LABELS, bounds) for step, scores in enumerate(batches)
    )


def test_stuck_variables_are_said_once() -> None:
    monitor = CollapseMonitor(bound_patience=3)
    said = collapses_said(
        partial(monitor.look, step, RANKED, LABELS, {"s_neg": torch.tensor(s), "gamma": torch.tensor(True)})
        for step, s in enumerate([True, False, True, True, True, True])
    )
    assert [message[:45] for message in said] == ["Training has collapsed by step 2: gamma staye"]
    with pytest.warns(UserWarning, match="not finite"):
        monitor.look(9, torch.full((40,), float("nan")), LABELS, {})


def test_scores_near_one_that_rank_nothing_are_said_once() -> None:
    batches = [
        RANKED,
        UNRANKED,
        UNRANKED,
        RANKED,
        *[UNRANKED] * 4,
        *[torch.full((40,), 0.5)] * 4,
        *[UNRANKED] * 20,
    ]
    said = looks(CollapseMonitor(unranked_patience=3), batches, gamma=True)
    assert len(said) == 1
    assert said[0].startswith(
        "Training has collapsed by step 60: positives rank no higher than negatives in the"
    )
    assert "gradient_clip_norm" in said[0]


def test_a_network_that_has_not_learned_yet_has_not_collapsed() -> None:
    assert looks(CollapseMonitor(), [UNRANKED] * 50) == []
    monitor = CollapseMonitor()
    monitor.look_at_start(Ranking.of(RANKED, LABELS))
    assert len(looks(monitor, [UNRANKED] * 50)) == 1


def test_constant_scores_are_said_after_some_looks() -> None:
    half = torch.linspace(0.5, 0.5005, 40)
    assert looks(CollapseMonitor(constant_patience=3), [half, half, RANKED, half, half]) == []
    said = looks(CollapseMonitor(constant_patience=3), [half] * 5)
    assert len(said) == 1
    assert "step 20: all scores of the batch are 0.5" in said[0]
    spread = torch.linspace(0, 1, 40)
    for saturated in (1 - 9e-4 * spread, 9e-6 * spread):
        assert len(looks(CollapseMonitor(), [saturated] * 5)) == 1
    assert looks(CollapseMonitor(), [5e-4 * spread] * 5) == []  # as they may be where positives are rare


def test_batches_that_say_little_do_not_judge() -> None:
    monitor = CollapseMonitor(unranked_patience=2)
    monitor.look_at_start(Ranking.of(RANKED, LABELS))
    same_batch = [partial(monitor.look, 3, UNRANKED, LABELS, {})] * 5
    few_positives = (torch.arange(40) < 9).int()
    few = [partial(monitor.look, step, torch.linspace(0, 1, 40), few_positives, {}) for step in range(4, 9)]
    none = [
        partial(monitor.look, step, torch.full((40,), 1e-8), torch.zeros(40), {}) for step in range(10, 20)
    ]
    assert collapses_said([*same_batch, *few, *none]) == []
    assert len(collapses_said([partial(monitor.look, 20, UNRANKED, LABELS, {})])) == 1


def test_validation_at_chance_is_judged_by_what_was_before() -> None:
    def said(aucs: list[float], n_pos: int = 200) -> int:
        monitor = CollapseMonitor()
        return len(
            collapses_said(
                partial(monitor.look_at_validation, step, Ranking(auc, n_pos, 1300))
                for step, auc in enumerate(aucs)
            )
        )

    # With 200 positives and 1300 negatives the standard error of a chance AUC is 0.022.
    assert said([0.85, 0.515, 0.5]) == 1  # fallen
    assert said([0.85, 0.515, 0.7, 0.5]) == 0
    assert said([0.85, 0.54, 0.53]) == 0
    assert said([0.44, 0.49, 0.58, 0.55]) == 0  # a slow start
    assert said([0.44, 0.49, 0.505]) == 1  # no start
    assert said([0.59, 0.515, 0.515, 0.515]) == 0  # it never was clearly above chance, and is a little
    assert said([0.85, 0.3, 0.3, 0.3], n_pos=9) == 0  # too few to tell


def test_small_healthy_validation_parts_raise_no_alarm() -> None:
    """Scores of AUC 0.76 on 12 positives and 120 negatives, thirty times, for forty runs."""
    generator = torch.Generator().manual_seed(0)
    labels = (torch.arange(132) < 12).long()
    false_alarms = 0
    for _ in range(40):
        monitor = CollapseMonitor()
        monitor.look_at_start(Ranking.of(RANKED, LABELS))
        aucs = [
            float(binary_partial_auc(torch.randn(132, generator=generator) + labels, labels))
            for _ in range(30)
        ]
        assert sum(aucs) / 30 == pytest.approx(0.76, abs=0.06)
        false_alarms += bool(
            collapses_said(
                partial(monitor.look_at_validation, step, Ranking(auc, 12, 120))
                for step, auc in enumerate(aucs)
            )
        )
    assert false_alarms <= 1


@pytest.mark.parametrize("method", [PAUCI, UPAUCI])
def test_large_steps_collapse_a_two_way_run_unless_they_are_clipped(
    method: type[MinimaxMethod], tmp_path: Path
) -> None:
    """Four times the shipped step size, after a short warm-up; by default the gradient is clipped."""
    data = digits(positive_fraction=0.5)
    fit(
        CE(backbone=small_net(), learning_rate=0.1),
        tmp_path / "warm",
        data,
        max_epochs=4,
        limit_val_batches=0,
    )
    said, pauc = {}, {}
    settings: dict[str, dict[str, Any]] = {"free": {"gradient_clip_norm": None}, "clipped": {}}
    for name, clipping in settings.items():
        module = method(
            backbone=small_net(),
            min_tpr=0.7,
            warmup_epochs=0,
            init_weights=str(tmp_path / "warm" / "last.ckpt"),
            descent_lr=2.0,
            schedule="cosine",
            **clipping,
        )
        run = trainer(tmp_path / name, max_epochs=5, callbacks=[CollapseMonitor()])
        said[name] = collapses_said([partial(run.fit, module, datamodule=data)])
        pauc[name] = float(run.callback_metrics["val/pauc"])
    assert len(said["free"]) == 1
    assert said["clipped"] == []
    assert pauc["free"] < 0.5
    assert pauc["clipped"] > 0.9


def test_a_run_at_chance_on_the_validation_part_says_so(tmp_path: Path) -> None:
    """A network whose output is turned round ranks every pair the wrong way; no step is made."""
    good = CE(backbone=small_net(), learning_rate=0.1)
    fit(good, tmp_path / "good", max_epochs=3)
    nets = {"good": good.backbone, "bad": nn.Sequential(copy.deepcopy(good.backbone), Negate())}
    said = {}
    for name, net in nets.items():
        module = CE(backbone=net, learning_rate=0.0)
        said[name] = collapses_said(
            [
                partial(
                    fit,
                    module,
                    tmp_path / name,
                    max_epochs=5,
                    limit_train_batches=1,
                    callbacks=[CollapseMonitor()],
                )
            ]
        )
    assert said["good"] == []
    assert len(said["bad"]) == 1
    assert "no higher than negatives on the validation part, 3 times in a row (AUC 0.0" in said["bad"][0]


def test_the_monitor_sees_the_whole_validation_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Ranking] = []
    monkeypatch.setattr(CollapseMonitor, "look_at_validation", lambda _, step, ranking: seen.append(ranking))
    data = digits(eval_batch_size=50)
    module = CE(backbone=small_net(), learning_rate=0.1)
    fit(module, tmp_path, data, max_epochs=2, num_sanity_val_steps=2, callbacks=[CollapseMonitor()])
    part = data.dataset("val")
    batch = part.__getitems__(range(len(part)))
    with torch.no_grad():
        scores = module.eval()(data.eval_transform(batch.input)).double()
    positive, negative = scores[batch.target == 1], scores[batch.target == 0]
    wins = (positive[:, None] > negative).double().mean() + 0.5 * (
        positive[:, None] == negative
    ).double().mean()
    assert len(seen) == 2  # not for the sanity check
    assert seen[-1].auc == pytest.approx(float(wins), abs=1e-9)
    assert (seen[-1].n_pos, seen[-1].n_neg) == (len(positive), len(negative))


def test_a_resumed_run_neither_forgets_a_collapse_nor_warns_of_it_again(tmp_path: Path) -> None:
    net = small_net()
    nn.init.zeros_(net.get_parameter("3.weight"))
    whole, first, second = CollapseMonitor(), CollapseMonitor(), CollapseMonitor()
    settings: dict[str, Any] = {"learning_rate": 0.0, "momentum": 0.0, "weight_decay": 0.0}
    for monitor, limits, checkpoint, n_said in (
        (whole, {"max_steps": 20}, None, 1),
        (first, {"max_steps": 15}, None, 1),
        (second, {"max_steps": 20}, tmp_path / "first.ckpt", 0),
    ):
        run = trainer(tmp_path, callbacks=[monitor], limit_val_batches=0, **limits)
        module = CE(backbone=copy.deepcopy(net), **settings)
        said = collapses_said([partial(run.fit, module, datamodule=digits(), ckpt_path=checkpoint)])
        assert len(said) == n_said
        run.save_checkpoint(tmp_path / "first.ckpt")
    assert len(whole.collapses) == 1
    assert second.collapses == whole.collapses
    assert second.state_dict() == whole.state_dict()

    again = trainer(tmp_path, callbacks=[second], limit_val_batches=0, max_steps=2)
    again.fit(CE(backbone=small_net(), **settings), datamodule=digits())
    assert second.collapses == []  # of a new fit


class Negate(nn.Module):
    def forward(self, logits: Tensor) -> Tensor:
        return -logits
