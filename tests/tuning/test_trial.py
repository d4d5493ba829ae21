"""Trials: their states and values, and the bars of the next ones, computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from pauc_lightning.errors import InputError
from pauc_lightning.tuning.pruning import bars
from pauc_lightning.tuning.trial import Trial, TrialRun, best_of


def trial(number: int, *runs: TrialRun, seeds: tuple[int, ...] = (0,)) -> Trial:
    return Trial(number, {"model.omega": 0.5}, seeds, number, runs)


def test_the_value_is_the_mean_over_the_seeds_once_all_are_done() -> None:
    half = trial(0, TrialRun(3, 0.5, (0.4, 0.5)), seeds=(3, 7))
    assert (half.state, half.value, half.next_seed) == ("running", None, 7)
    done = half.with_run(TrialRun(7, 0.75, (0.75, 0.7), seconds=2.0))
    assert (done.state, done.value, done.next_seed) == ("complete", 0.625, None)
    assert done.seconds == 2.0


@pytest.mark.parametrize(
    ("run", "state"),
    [
        (TrialRun(3, 0.2, (0.2,), pruned_at=1), "pruned"),
        (TrialRun(3, failure="It exploded."), "failed"),
    ],
)
def test_what_is_given_up_or_fails_is_not_trained_with_the_next_seed(run: TrialRun, state: str) -> None:
    ended = trial(0, run, seeds=(3, 7))
    assert (ended.state, ended.value, ended.next_seed) == (state, None, None)


def test_the_best_is_the_first_of_the_largest_and_a_collapsed_one_only_for_want_of_others() -> None:
    values = (0.3, 0.6, 0.6)
    trials = [trial(number, TrialRun(0, value, (value,))) for number, value in enumerate(values)]
    collapsed = trial(3, TrialRun(0, 0.9, (0.9, 0.1), collapse="by step 9, scores are constant"))
    failed = trial(4, TrialRun(0, failure="It exploded."))
    assert best_of([*trials, collapsed, failed]) is trials[1]
    assert best_of([failed, collapsed]) is collapsed
    assert collapsed.state == "collapsed"
    assert best_of([failed]) is None


def test_a_trial_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = Trial(
        3,
        {"model.a": 1e-05, "model.b": None, "model.c": "x", "model.d": True},
        (0, 1),
        2,
        (TrialRun(0, 0.1 + 0.2, (0.1, 0.1 + 0.2), seconds=1.5), TrialRun(1, failure="It exploded.")),
    )
    written.write(tmp_path)
    assert Trial.read(tmp_path) == written
    assert Trial.read(tmp_path / "elsewhere") is None
    (tmp_path / "trial.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        Trial.read(tmp_path)


def test_bars_are_medians_of_the_best_values_so_far_with_the_same_seed() -> None:
    curves = [
        (0.1, 0.5, 0.2, 0.9, 0.9),
        (0.2, 0.1, 0.3, 0.4, 0.5),
        (0.3, 0.3, 0.6, 0.6, 0.6),
        (0.4, 0.2, 0.2, 0.2, 0.2),
        (0.0, 0.0, 0.1, 0.8, 0.9),
    ]
    other = TrialRun(1, 1.0, (1.0,) * 5)
    trials = [trial(n, TrialRun(0, max(c), c), other, seeds=(0, 1)) for n, c in enumerate(curves)]
    # Best so far at the third validation: .5 .3 .6 .4 .1; at the fourth: .9 .4 .6 .4 .8. The first two are a grace
    # period (a quarter of five, rounded up), and the last validation has nothing to save.
    assert bars(trials, seed=0) == [None, None, 0.4, 0.6]
    assert bars(trials, seed=1) == [None, None, 1.0, 1.0]
    assert bars(trials, seed=2) == []
    assert bars(trials[:4], seed=0) == []
    ended_badly = [
        trial(5, TrialRun(0, 0.0, (0.0,), pruned_at=1)),
        trial(6, TrialRun(0, failure="It exploded.")),
        trial(7, TrialRun(0, 0.9, (0.9,) * 5, collapse="by step 1")),
    ]
    assert bars([*trials, *ended_badly], seed=0) == [None, None, 0.4, 0.6]
