"""The model that a method starts from is a candidate of the selection, and the run says when it is the best."""

from __future__ import annotations

import csv
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from callbacks.runs import Kill, Run, build, run
from ddp import run_on_ranks
from lightning.pytorch import Callback, LightningModule, Trainer

from pauc_lightning.callbacks import RunCheckpoint, StartValidation
from pauc_lightning.checkpoint_io import read_checkpoint
from pauc_lightning.cli import main
from pauc_lightning.methods import CE, PAUCI

SCRIPTED = "val/scripted"


class Scripted(Callback):
    """Makes the value of a validation a function of the step."""

    def __init__(self, values: dict[int, float]) -> None:
        self.values = values
        self.seen: list[int] = []

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.seen.append(trainer.global_step)
        pl_module.log(SCRIPTED, self.values[trainer.global_step])


def scripted(folder: Path, values: dict[int, float], **settings: Any) -> tuple[Run, Scripted]:
    script = Scripted(values)
    extra = [StartValidation(), script]
    return run(folder, checkpoint=RunCheckpoint(SCRIPTED), extra=extra, **settings), script


@pytest.fixture
def start(tmp_path: Path) -> str:
    """The checkpoint of an earlier run."""
    return str(run(tmp_path / "earlier", max_epochs=1).last)


def test_a_run_from_given_weights_returns_them_if_nothing_is_better(tmp_path: Path, start: str) -> None:
    module = partial(build, PAUCI, warmup_epochs=0, init_weights=start)
    done, script = scripted(tmp_path, {0: 0.9, 10: 0.8, 20: 0.7}, module=module, max_epochs=2)
    assert script.seen == [0, 10, 20]
    best, earlier = read_checkpoint(done.best), read_checkpoint(start)
    assert best["global_step"] == 0
    for key, value in earlier["state_dict"].items():
        if key.startswith("backbone."):
            assert torch.equal(best["state_dict"][key], value)
    assert done.checkpoint.best_is_start
    done, _ = scripted(tmp_path / "better", {0: 0.6, 10: 0.8, 20: 0.7}, module=module, max_epochs=2)
    assert read_checkpoint(done.best)["global_step"] == 10
    assert not done.checkpoint.best_is_start


@pytest.mark.parametrize(
    ("settings", "steps"),
    [
        ({}, [10, 20, 30]),  # the warm-up's end is validated anyway
        ({"check_val_every_n_epoch": 2, "max_epochs": 4}, [10, 20, 40]),
        ({"val_check_interval": 0.5, "max_epochs": 2}, [5, 10, 15, 20]),
        ({"val_check_interval": 7, "check_val_every_n_epoch": None, "max_epochs": 2}, [7, 10, 14]),
        ({"limit_val_batches": 0}, []),
    ],
)
def test_the_end_of_the_warm_up_is_validated_once(
    tmp_path: Path, settings: dict[str, Any], steps: list[int]
) -> None:
    _, script = scripted(
        tmp_path, dict.fromkeys(range(50), 0.5), module=partial(build, PAUCI, warmup_epochs=1), **settings
    )
    assert script.seen == steps


def test_random_weights_and_cross_entropy_from_scratch_are_not_validated(tmp_path: Path) -> None:
    for method in (CE, PAUCI):
        _, script = scripted(
            tmp_path, {10: 0.5}, module=partial(build, method, warmup_epochs=0), max_epochs=1
        )
        assert script.seen == [10]


@pytest.mark.parametrize(
    ("hook", "step"), [("on_train_batch_end", 1), ("on_train_batch_end", 13), ("on_train_start", 0)]
)
def test_killed_and_resumed(tmp_path: Path, start: str, hook: str, step: int) -> None:
    module = partial(build, PAUCI, warmup_epochs=0, init_weights=start)
    whole = run(tmp_path / "whole", module=module, extra=[StartValidation()])
    victim = run(
        tmp_path / "victim", module=module, extra=[StartValidation(), Kill(hook, step)], every_n_train_steps=1
    )
    assert victim.was_killed
    resumed = run(
        tmp_path / "victim",
        resume=victim.last if step > 0 else None,
        module=module,
        extra=[StartValidation()],
        every_n_train_steps=1,
    )
    first = victim.witness.validated if step > 0 else []
    assert [*first, *resumed.witness.validated] == whole.witness.validated
    for key, value in whole.state.items():
        assert torch.equal(value, resumed.state[key]), key
    assert resumed.checkpoint.best_model_score == whole.checkpoint.best_model_score
    assert resumed.checkpoint.best_is_start == whole.checkpoint.best_is_start


def test_a_resumed_run_knows_that_its_best_is_the_start(tmp_path: Path, start: str) -> None:
    module = partial(build, PAUCI, warmup_epochs=0, init_weights=start)
    values = {0: 0.9, 10: 0.8, 20: 0.7}
    first, _ = scripted(tmp_path, values, module=module, max_epochs=1)
    again, script = scripted(tmp_path, values, module=module, max_epochs=2, resume=first.last)
    assert script.seen == [20]
    assert again.checkpoint.best_is_start
    assert float(again.checkpoint.best_model_score or 0) == pytest.approx(0.9)


def train_on_rank(rank: int, folder: str, start: str) -> tuple[list[int], bool, int]:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", TORCHELASTIC_RUN_ID="test")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29500", GROUP_RANK="0", LOCAL_WORLD_SIZE="2")
    done, script = scripted(
        Path(folder),
        {0: 0.9, **dict.fromkeys(range(1, 20), 0.5)},
        module=partial(build, PAUCI, warmup_epochs=0, init_weights=start),
        max_epochs=1,
        devices=2,
        strategy="ddp",
    )
    return script.seen, done.checkpoint.best_is_start, int(read_checkpoint(done.best)["global_step"])


def test_two_processes_validate_the_start_together(tmp_path: Path, start: str) -> None:
    results = run_on_ranks(train_on_rank, 2, str(tmp_path / "two"), start)
    assert results == [([0, 5], True, 0)] * 2


def test_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A step that is far too long: the run returns the end of its warm-up, in the report, the test and fit.json."""
    main(
        [
            *(
                "fit",
                "-c",
                "digits",
                "-c",
                "upauci",
                f"--run_dir={tmp_path}",
                "--run_name=r",
                "--test_best=true",
            ),
            *("--model.learning_rate=0.1", "--model.warmup_epochs=6", "--trainer.max_epochs=8"),
            *(
                "--model.descent_lr=1000",
                "--model.gradient_clip_norm=null",
                "--trainer.enable_progress_bar=false",
            ),
            *("--trainer.check_val_every_n_epoch=4", "--figures.every_n_epochs=0"),
            "--trainer.callbacks+=pauc_lightning.experiments.record.RunRecord",
        ]
    )
    printed = capsys.readouterr().out
    assert "This is the model of its warm-up: no epoch of UPAUCI itself was better on validation." in printed
    assert "This checkpoint is from before the first step of UPAUCI itself." in printed
    folder = tmp_path / "r/version_0"
    record = json.loads((folder / "fit.json").read_text())
    assert record["best_is_start"] is True
    with (folder / "metrics.csv").open(newline="") as file:
        rows = [(float(row["epoch"]), row["val/pauc"]) for row in csv.DictReader(file) if row["val/pauc"]]
    assert [epoch for epoch, _ in rows] == [3, 5, 7]  # the sixth epoch, numbered 5, ended the warm-up
    assert record["best_value"] == pytest.approx(float(rows[1][1]))


def test_the_command_does_not_blame_a_method_that_was_not_validated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(
        [
            *("fit", "-c", "digits", "-c", "upauci", f"--run_dir={tmp_path}", "--model.warmup_epochs=1"),
            *("--trainer.max_epochs=3", "--trainer.check_val_every_n_epoch=4"),
            *("--trainer.enable_progress_bar=false", "--figures.every_n_epochs=0"),
        ]
    )
    printed = capsys.readouterr().out
    assert (
        "no epoch of UPAUCI itself was validated, because `trainer.check_val_every_n_epoch` is 4" in printed
    )
    assert "itself was better" not in printed
