from __future__ import annotations

import copy
import re

import pytest
import torch

from pauc_lightning import methods
from pauc_lightning.benchmarks import step
from pauc_lightning.benchmarks.step import LOG_INTERVAL, METHODS, REFERENCE, Timing
from pauc_lightning.errors import InputError


def rows_of(printed: str) -> list[tuple[str, ...]]:
    number = r" +(\d+\.\d\d)"
    return re.findall(rf"^(.+?){number}{number}{number}{number} +(\d+\.\d)%$", printed, flags=re.MULTILINE)


def test_prints_a_ratio_for_every_network(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["CE, empty", REFERENCE, "UPAUCI"]
    monkeypatch.setattr(step, "METHODS", {name: METHODS[name] for name in names})
    threads = torch.get_num_threads()
    step.main(["--batch", "2", "--mlp_batch", "16", "--steps", "1", "--size", "16"])
    assert torch.get_num_threads() == threads
    printed = capsys.readouterr().out
    assert re.findall(r"^A training step of (.*)$", printed, flags=re.MULTILINE) == [
        "MLP, batches of 16",
        "SmallCNN, batches of 2 images of 16x16",
        "ResNet-18, batches of 2 images of 16x16",
    ]
    rows = rows_of(printed)
    assert [name for name, *_ in rows] == names * 3
    assert [row[2] for row in rows if row[0] == REFERENCE] == ["1.00"] * 3
    assert all(float(row[4]) > 0 for row in rows)


def test_times_every_method(capsys: pytest.CaptureFixture[str]) -> None:
    step.main(["--networks", "small", "--batch", "8", "--steps", "1", "--size", "8"])
    assert [name for name, *_ in rows_of(capsys.readouterr().out)] == list(METHODS)


def test_a_log_in_every_block_counts_and_a_disturbance_does_not() -> None:
    logged = [1.0] * (LOG_INTERVAL - 1) + [2.0]
    timings = {REFERENCE: Timing([1.0] * 30, logged * 2 + [100.0] * LOG_INTERVAL, loading=0.11)}
    assert timings[REFERENCE].medians() == pytest.approx((1.0, 1.1))
    assert step.report("it", timings).splitlines()[-1].split() == [
        *("CE", "1000.00", "1.00", "1100.00", "1.10", "10.0%")
    ]


def test_every_method_of_the_project_is_timed() -> None:
    classes = {make for make in METHODS.values() if isinstance(make, type)}
    assert classes == {getattr(methods, name) for name in methods.__all__} - {methods.PartialAUCModule}


def test_the_plain_step_trains_by_the_methods_own_loss() -> None:
    """After one plain step the weights are those of a step written out here, for losses of every kind."""
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(40, 3, generator=generator), torch.arange(40) % 2
    for name in ("CE", "MB", "SOPA", "UPAUCI, stored c"):
        torch.manual_seed(0)
        module = METHODS[name](
            backbone=torch.nn.Linear(3, 1), max_fpr=0.3, warmup_epochs=0, train_size=40, prior=0.5
        )
        assert isinstance(module, methods.PartialAUCModule)
        by_hand = copy.deepcopy(module)
        state = torch.get_rng_state()
        step._plain_step(module, x, y, batch=16)()
        torch.set_rng_state(state)
        rows = torch.randint(40, (16,))
        logits = by_hand.backbone(x[rows]).squeeze(1)
        scores = logits if name == "CE" else logits.sigmoid()
        by_hand.before_loss(scores.detach(), y[rows], rows)
        by_hand.compute_loss(scores, y[rows], rows).backward()
        if by_hand.gradient_clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(by_hand.backbone.parameters(), by_hand.gradient_clip_norm)
        by_hand.configure_method_optimizer().step(lambda: 0.0)
        for moved, expected in zip(module.backbone.parameters(), by_hand.backbone.parameters(), strict=True):
            torch.testing.assert_close(moved, expected)


def test_nothing_to_time_is_refused() -> None:
    with pytest.raises(InputError, match="`--steps=0` must be at least 1"):
        step.main(["--steps", "0"])
