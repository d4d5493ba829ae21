"""However often and wherever a run is killed, it ends where the uninterrupted one does, bit by bit."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from callbacks.runs import Kill, KillLast, Run, build, run

from pauc_lightning.checkpoint_io import read_checkpoint
from pauc_lightning.methods import UPAUCI

STEPS = 30
"""Three epochs of ten steps."""


def assert_equal_states(expected: dict[str, Any], got: dict[str, Any]) -> None:
    assert expected.keys() == got.keys()
    for key, value in expected.items():
        assert torch.equal(value, got[key]), key


def assert_same_end(whole: Run, resumed: Run) -> None:
    assert resumed.trainer.global_step == whole.trainer.global_step
    assert resumed.trainer.current_epoch == whole.trainer.current_epoch
    assert_equal_states(whole.state, resumed.state)
    expected, got = read_checkpoint(whole.last), read_checkpoint(resumed.last)
    assert expected["loops"]["fit_loop"] == got["loops"]["fit_loop"]
    assert expected["pauc_position"] == got["pauc_position"]
    assert whole.best.exists() == resumed.best.exists()
    if whole.best.exists():
        expected, got = read_checkpoint(whole.best), read_checkpoint(resumed.best)
        assert_equal_states(expected["state_dict"], got["state_dict"])
        assert expected["global_step"] == got["global_step"]
        assert expected["loops"]["fit_loop"] == got["loops"]["fit_loop"]
        assert resumed.checkpoint.best_model_score == whole.checkpoint.best_model_score


def assert_nothing_twice(whole: Run, resumed: Run, position: dict[str, Any]) -> None:
    """The resumed run does what is left from the position on, and nothing else."""
    done, pending = position["total_batches"], position["validation_is_pending"]
    assert resumed.witness.seen == whole.witness.seen[done:]
    left = [(step, value) for step, value in whole.witness.validated if step >= done + (not pending)]
    assert resumed.witness.validated == left
    assert resumed.witness.logged_at == whole.witness.logged_at[len(whole.witness.logged_at) - len(left) :]


# Where the process goes away, one time after the other: the hook, and the number of steps then. "own" means after the
# checkpoint callback's work in that hook, and otherwise it is before.
EVERYWHERE = [
    ("on_before_backward", 3),
    ("on_train_batch_end", 4),
    ("on_train_batch_end", 10),
    ("own:on_train_batch_end", 10),
    ("on_validation_start", 10),
    ("on_validation_batch_start", 10),
    ("on_validation_end", 10),
    ("own:on_validation_end", 10),
    ("on_train_epoch_end", 10),
    ("own:on_train_epoch_end", 10),
    ("on_train_epoch_start", 10),
    ("on_train_batch_start", 10),
    ("own:on_train_batch_end", 20),
    ("own:on_train_batch_end", 30),
    ("on_validation_batch_start", 30),
    ("on_train_end", 30),
]
SOMEWHERE = [
    ("own:on_train_batch_end", 5),
    ("own:on_train_batch_end", 10),
    ("on_validation_batch_start", 20),
    ("on_train_epoch_end", 20),
    ("on_before_backward", 24),
    ("own:on_train_batch_end", 25),
]
ASCENT = partial(build, UPAUCI, weights="ascent", min_tpr=0.5)
SETTINGS: dict[str, tuple[dict[str, Any], list[tuple[str, int]]]] = {
    "epochs": ({}, EVERYWHERE),
    "steps": ({"max_epochs": -1, "max_steps": STEPS}, EVERYWHERE),
    "steps-mid-epoch": ({"max_epochs": -1, "max_steps": 26}, SOMEWHERE),
    "validation-twice": ({"val_check_interval": 0.5}, SOMEWHERE),
    "validation-by-steps": (
        {"val_check_interval": 15, "check_val_every_n_epoch": None},
        [*SOMEWHERE[:2], ("on_validation_batch_start", 15), ("on_validation_batch_start", 30)],
    ),
    "validation-every-second": ({"check_val_every_n_epoch": 2, "max_epochs": 4}, SOMEWHERE),
    "no-validation": ({"limit_val_batches": 0}, [*SOMEWHERE[:2], *SOMEWHERE[3:]]),
    "double": ({"precision": "64-true"}, SOMEWHERE),
    "workers": ({"data": {"num_workers": 2}}, SOMEWHERE[:2]),
    "upauci": ({"module": ASCENT}, SOMEWHERE),
    "upauci-double": ({"module": ASCENT, "precision": "64-true"}, SOMEWHERE[1:4]),
}


def kill_and_resume(
    tmp_path: Path, whole: Run, places: list[tuple[str, int]], every: int | None, **settings: Any
) -> None:
    """Kill a run in all places, one after the other, each time resuming from what is on the disk."""
    source: Path | None = None
    for number, (place, step) in enumerate(places):
        killed, hook = tmp_path / f"killed{number}", place.removeprefix("own:")
        kill: Any = Kill(hook, step, killed)
        if hook != place:
            kill = KillLast(hook, step, killed, every_n_train_steps=every)
        victim = run(tmp_path / f"run{number}", source, kill, every, seed=number, **settings)
        if not victim.was_killed:
            assert step > victim.trainer.global_step, place
            break
        source = killed / "checkpoints/last.ckpt"
        source = source if source.exists() else None
    resumed = run(tmp_path / "resumed", source, None, every, seed=99, **settings)
    if source is None:
        assert resumed.witness.seen == whole.witness.seen
    else:
        assert_nothing_twice(whole, resumed, read_checkpoint(source)["pauc_position"])
    if not resumed.last.exists():  # nothing was left to do
        assert source is not None
        resumed.folder = source.parent.parent
    assert_same_end(whole, resumed)


@pytest.mark.parametrize("setting", SETTINGS)
def test_killed_and_resumed_with_a_checkpoint_at_every_step(tmp_path: Path, setting: str) -> None:
    settings, places = SETTINGS[setting]
    kill_and_resume(tmp_path, run(tmp_path / "whole", **settings), places, every=1, **settings)


@pytest.mark.parametrize("setting", ["epochs", "steps"])
def test_killed_and_resumed_with_a_checkpoint_at_every_epoch(tmp_path: Path, setting: str) -> None:
    settings, _ = SETTINGS[setting]
    places = [("on_train_batch_end", 4), ("on_train_batch_end", 12), ("on_validation_end", 20)]
    kill_and_resume(tmp_path, run(tmp_path / "whole", **settings), places, every=None, **settings)


@pytest.mark.parametrize("limits", [{}, {"max_epochs": -1, "max_steps": STEPS}], ids=["epochs", "steps"])
def test_resumed_between_two_epochs_the_loggers_clock_does_not_jump(
    limits: dict[str, Any], tmp_path: Path
) -> None:
    """With ``max_steps`` Lightning takes every resumed run for one within an epoch, and would count a step twice."""
    whole = run(tmp_path / "whole", **limits)
    run(tmp_path / "run", None, KillLast("on_train_epoch_end", 10, tmp_path / "killed"), **limits)
    source = tmp_path / "killed/checkpoints/last.ckpt"
    resumed = run(tmp_path / "resumed", source, seed=9, **limits)
    assert read_checkpoint(source)["pauc_position"]["batches"] == 0
    assert resumed.witness.seen == whole.witness.seen[10:]
    assert resumed.witness.logged_at == whole.witness.logged_at[1:]
