"""Proposals: a function of what is known, inside the space, and better than chance."""

from __future__ import annotations

import math
import statistics
import sys

import pytest

from pauc_lightning.errors import InputError
from pauc_lightning.tuning.proposal import check_installed, propose
from pauc_lightning.tuning.space import Choice, Range, Space, Value
from pauc_lightning.tuning.trial import Trial, TrialRun

SPACE = Space({"model.lr": Range(1e-4, 1.0, is_log=True), "model.kind": Choice(("a", "b", None))})


def trial(number: int, parameters: dict[str, Value], value: float, **how: object) -> Trial:
    return Trial(number, parameters, (0,), runs=(TrialRun(0, value, (value,), **how),))  # type: ignore[arg-type]


def worth(parameters: dict[str, Value]) -> float:
    """Best at 0.01 and b."""
    distance = abs(math.log10(float(parameters["model.lr"] or 0)) + 2)
    return 1 - distance / 4 + (0.0 if parameters["model.kind"] == "b" else -0.3)


def search(n: int, seed: str = "0") -> list[Trial]:
    trials: list[Trial] = []
    for number in range(n):
        parameters = propose(SPACE, trials, [], number, seed)
        trials.append(trial(number, parameters, worth(parameters)))
    return trials


def test_the_same_knowledge_gives_the_same_proposal() -> None:
    trials = search(14)
    again = propose(SPACE, trials[:12], [], 12, "0")
    assert again == trials[12].parameters
    assert propose(SPACE, trials[:12], [], 12, "1") != again
    assert propose(SPACE, trials[:12], [], 13, "0") != again
    assert propose(SPACE, trials[:11], [], 12, "0") != again


def test_proposals_are_in_the_space_with_three_digits() -> None:
    for found in search(15):
        lr = found.parameters["model.lr"]
        assert isinstance(lr, float)
        assert 1e-4 <= lr <= 1
        assert lr == float(f"{lr:.3g}")
        assert found.parameters["model.kind"] in ("a", "b", None)


def test_later_proposals_are_better_than_those_by_chance() -> None:
    """Optuna's first ten are random. The mean over five searches: a single one is noisy."""
    searches = [[worth(dict(found.parameters)) for found in search(25, str(seed))] for seed in range(5)]
    first = statistics.mean(value for values in searches for value in values[:10])
    later = statistics.mean(value for values in searches for value in values[10:])
    assert later > first + 0.1
    assert all(max(values) > 0.9 for values in searches)


def test_failed_and_collapsed_trials_repel_and_defaults_may_lie_outside() -> None:
    """Half of the range fails: hardly any proposal falls there afterwards."""
    space = Space({"model.lr": Range(0.0, 1.0)})
    known = [Trial(0, {"model.lr": None}, (0,), runs=(TrialRun(0, 0.5, (0.5,)),))]
    for number in range(1, 25):
        lr = number / 25
        if lr < 0.5:
            known.append(trial(number, {"model.lr": lr}, 0.5 + 0.1 * lr))
        elif number % 2:
            known.append(trial(number, {"model.lr": lr}, 0.99, collapse="by step 3"))
        else:
            run = TrialRun(0, failure="It exploded.")
            known.append(Trial(number, {"model.lr": lr}, (0,), runs=(run,)))
    proposed = [float(propose(space, known, [], n, "0")["model.lr"] or 0) for n in range(25, 45)]
    assert sum(lr < 0.5 for lr in proposed) >= 18


def test_running_trials_are_kept_away_from() -> None:
    trials = search(12)
    running = [Trial(12, propose(SPACE, trials, [], 12, "0"), (0,))]
    assert propose(SPACE, trials, running, 13, "0") == propose(SPACE, trials, running, 13, "0")


def test_pruned_trials_are_known_too() -> None:
    trials = search(12)
    pruned = Trial(12, {"model.lr": 0.5, "model.kind": "a"}, (0,), runs=(TrialRun(0, 0.1, (0.1, 0.1), 2),))
    assert propose(SPACE, [*trials, pruned], [], 13, "0")["model.kind"] in ("a", "b", None)


def test_without_optuna_the_sentence_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"pip install 'pauc-lightning\[tune\]'"):
        check_installed()
