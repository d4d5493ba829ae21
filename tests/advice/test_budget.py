"""The time is divided among the splits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pauc_lightning.advice.budget import Budget
from pauc_lightning.advice.options import AdviceRequest, parse
from pauc_lightning.config_files import find_config


class Clock:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def request(minutes: float, seeds: tuple[int, ...] = (0, 1, 2, 3, 4)) -> AdviceRequest:
    plan = parse(["-c", str(find_config("digits"))]).plan
    return AdviceRequest(replace(plan, seeds=seeds), minutes)


def spend(budget: Budget, clock: Clock, rest: float, finished: tuple[int, ...] = ()) -> list[float]:
    """Let each search use its time, and the rest of each split take ``rest`` seconds; return the searches' times."""
    searches = []
    for plan in budget.plans(lambda seed: seed in finished):
        assert plan.tuning is not None
        assert plan.tuning.seconds is not None
        if plan.seeds[0] in finished:
            continue
        searches.append(plan.tuning.seconds)
        clock.now += plan.tuning.seconds + rest
    return searches


def test_all_splits_are_used_and_the_time_is_kept() -> None:
    clock = Clock()
    budget = Budget(request(minutes=10), clock)
    searches = spend(budget, clock, rest=20.0)
    assert budget.seeds == [0, 1, 2, 3, 4]
    assert clock.now == pytest.approx(600, abs=1)
    assert searches[0] == pytest.approx(0.7 * 120)
    assert searches[1:] == pytest.approx([(600 - 104) / 4 - 20] * 4)


def test_cross_entropy_that_may_stop_early_is_in_every_split_unless_there_is_no_warm_up() -> None:
    clock = Clock()
    for plan in Budget(request(minutes=10), clock).plans(lambda seed: False):
        assert list(plan.methods) == ["ce", "ce_early", "partial_auc", "upauci"]
        assert plan.methods_from_initial_weights == ("ce_early",)
        assert plan.methods["ce_early"] == replace(plan.methods["ce"], start="initial")
    digits = ["-c", str(find_config("digits"))]
    assert list(parse([*digits, "--warmup_epochs", "0"]).plan.methods) == ["ce", "partial_auc", "upauci"]
    plan = parse([*digits, "--for", "ce", "model.momentum=0.5"]).plan
    assert plan.methods["ce_early"].last == ("--model.momentum=0.5",)


def test_too_little_time_still_uses_three_splits_and_says_that_more_were_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    budget = Budget(request(minutes=1), clock)
    spend(budget, clock, rest=50.0)
    assert budget.seeds == [0, 1, 2]
    assert "The time is up after 3 of 5 splits" in capsys.readouterr().out


def test_splits_that_were_finished_before_take_no_time() -> None:
    clock = Clock()
    budget = Budget(request(minutes=10), clock)
    searches = spend(budget, clock, rest=20.0, finished=(0, 1, 2))
    assert budget.seeds == [0, 1, 2, 3, 4]
    assert len(searches) == 2
    assert clock.now == pytest.approx(600, abs=61)
