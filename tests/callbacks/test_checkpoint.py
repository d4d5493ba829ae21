"""last.ckpt is the last state and best.ckpt the model that validated best, wherever a run lies and however it ends."""

from __future__ import annotations

import math
import os
import shutil
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from callbacks.runs import Kill, Killed, Run, build, run
from ddp import run_on_ranks
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor

from pauc_lightning.callbacks import RunCheckpoint
from pauc_lightning.checkpoint_io import read_checkpoint
from pauc_lightning.errors import InputError
from pauc_lightning.methods import UPAUCI

SCRIPTED = "val/scripted"


class Scripted(Callback):
    """Makes the n-th validation's value the n-th of a list, and keeps the weights that were validated."""

    def __init__(self, *values: float) -> None:
        self.values = list(values)
        self.weights: list[Tensor] = []

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.weights.append(weights(pl_module.state_dict()).clone())
        pl_module.log(SCRIPTED, self.values[len(self.weights) - 1])


def weights(state: dict[str, Tensor]) -> Tensor:
    return state["backbone.1.weight"]


def scripted_run(folder: Path, *values: float, mode: Any = "max", **settings: Any) -> tuple[Run, Scripted]:
    script = Scripted(*values)
    checkpoint = RunCheckpoint(SCRIPTED, mode, settings.pop("every_n_train_steps", None))
    return run(folder, kill=script, checkpoint=checkpoint, **settings), script


def test_last_is_the_last_although_validation_gets_worse(tmp_path: Path) -> None:
    done, script = scripted_run(tmp_path, 0.3, 0.9, 0.5, 0.2, max_epochs=4)
    last, best = read_checkpoint(done.last), read_checkpoint(done.best)
    assert last["global_step"] == 40
    assert torch.equal(weights(last["state_dict"]), weights(done.state))
    assert best["global_step"] == 20
    assert torch.equal(weights(best["state_dict"]), script.weights[1])
    assert done.checkpoint.best_model_path == str(done.best)
    assert float(done.checkpoint.best_model_score or 0) == pytest.approx(0.9)
    assert sorted(path.name for path in done.last.parent.iterdir()) == ["best.ckpt", "last.ckpt"]


@pytest.mark.parametrize(
    ("values", "best", "settings"),
    [
        ((0.1, 0.2, 0.3), 2, {}),  # the final epoch is the best
        ((0.3, 0.2, 0.1), 2, {"mode": "min"}),
        ((0.2, 0.2, 0.2), 0, {}),  # the first of equals
        ((0.1, 0.4, 0.2, 0.3, 0.5, 0.3), 4, {"val_check_interval": 0.5}),
        ((0.4, 0.3), 0, {"check_val_every_n_epoch": 2, "max_epochs": 4}),
        ((math.nan, 0.1, math.nan), 1, {}),
        ((0.3, math.nan, 0.2), 0, {}),
        ((0.4, 0.3), 0, {"max_epochs": -1, "max_steps": 26}),
    ],
)
def test_best_is_exactly_the_model_that_was_validated(
    tmp_path: Path, values: tuple[float, ...], best: int, settings: dict[str, Any]
) -> None:
    done, script = scripted_run(tmp_path, *values, every_n_train_steps=1, **settings)
    assert len(script.weights) == len(values)
    saved = read_checkpoint(done.best)
    assert torch.equal(weights(saved["state_dict"]), script.weights[best])
    assert float(done.checkpoint.best_model_score or 0) == pytest.approx(values[best])
    assert not torch.equal(script.weights[0], script.weights[-1])


@pytest.mark.parametrize(
    ("values", "settings", "why"),
    [
        ((), {"limit_val_batches": 0}, "no validation was run"),
        ((math.nan,), {}, f"`{SCRIPTED}` was never a number"),
    ],
)
def test_without_a_best_model_it_is_said_why(
    tmp_path: Path, values: tuple[float, ...], settings: dict[str, Any], why: str
) -> None:
    with pytest.warns(UserWarning, match=f"There is no best.ckpt: {why}"):
        done, _ = scripted_run(tmp_path, *values, max_epochs=1, **settings)
    assert done.checkpoint.best_model_path == ""
    assert done.last.exists()
    assert not done.best.exists()


def test_trainer_finds_the_best_itself(tmp_path: Path) -> None:
    done, _ = scripted_run(tmp_path, 0.9, 0.5, max_epochs=2)
    done.trainer.test(done.module, datamodule=done.trainer.datamodule, ckpt_path="best", verbose=False)  # type: ignore[attr-defined]
    assert torch.equal(weights(done.module.state_dict()), weights(read_checkpoint(done.best)["state_dict"]))
    assert done.checkpoint.best_model_path == str(done.best)


@pytest.mark.parametrize("resume_from", ["last.ckpt", "best.ckpt"])
def test_a_moved_run_keeps_its_best(tmp_path: Path, resume_from: str) -> None:
    done, script = scripted_run(tmp_path / "old", 0.5, 0.9, max_epochs=2)
    shutil.move(done.folder, tmp_path / "new")
    resumed, _ = scripted_run(
        tmp_path / "new", 0.8, resume=tmp_path / f"new/checkpoints/{resume_from}", max_epochs=3
    )
    assert resumed.checkpoint.best_model_path == str(resumed.best)
    assert float(resumed.checkpoint.best_model_score or 0) == pytest.approx(0.9)
    assert torch.equal(weights(read_checkpoint(resumed.best)["state_dict"]), script.weights[1])
    assert read_checkpoint(resumed.last)["global_step"] == 30
    assert str(tmp_path) not in str(read_checkpoint(resumed.last)["callbacks"])


def test_a_run_that_goes_on_elsewhere_takes_its_best_along(tmp_path: Path) -> None:
    done, script = scripted_run(tmp_path / "old", 0.9, max_epochs=1)
    before = done.best.read_bytes()
    resumed, _ = scripted_run(tmp_path / "new", 0.8, resume=done.last, max_epochs=2)
    assert torch.equal(weights(read_checkpoint(resumed.best)["state_dict"]), script.weights[0])
    assert done.best.read_bytes() == before


def test_a_lost_best_is_said_and_replaced(tmp_path: Path) -> None:
    done, _ = scripted_run(tmp_path, 0.9, max_epochs=1)
    done.best.write_text("overwritten")
    with pytest.warns(UserWarning, match=rf"The best checkpoint so far \({SCRIPTED} 0.9000\) is lost"):
        resumed, script = scripted_run(tmp_path, 0.8, resume=done.last, max_epochs=2)
    assert torch.equal(weights(read_checkpoint(resumed.best)["state_dict"]), script.weights[0])


def test_the_best_of_a_run_made_with_lightnings_callback_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    script = Scripted(0.9)
    old = ModelCheckpoint(folder, "best", SCRIPTED, mode="max", save_last=True, enable_version_counter=False)
    run(tmp_path, kill=script, checkpoint=old, max_epochs=1)  # type: ignore[arg-type]
    resumed, _ = scripted_run(tmp_path, 0.8, resume=folder / "last.ckpt", max_epochs=2)
    assert float(resumed.checkpoint.best_model_score or 0) == pytest.approx(0.9)
    assert torch.equal(weights(read_checkpoint(resumed.best)["state_dict"]), script.weights[0])


@pytest.mark.parametrize(
    ("hook", "step", "saved"),
    [
        ("on_train_batch_end", 14, 14),
        ("on_validation_batch_start", 20, 20),
        ("on_before_backward", 14, 10),  # within a step: the state of the epoch's end stays
        ("on_before_backward", 4, None),
        ("on_fit_start", 0, None),
    ],
)
def test_an_exception_saves_what_is_whole(tmp_path: Path, hook: str, step: int, saved: int | None) -> None:
    victim = run(tmp_path / "run", kill=Kill(hook, step), num_sanity_val_steps=1)
    assert victim.was_killed
    assert victim.last.exists() == (saved is not None)
    if saved is not None:
        assert read_checkpoint(victim.last)["global_step"] == saved
        whole, resumed = run(tmp_path / "whole"), run(tmp_path / "run", victim.last)
        assert torch.equal(weights(whole.state), weights(resumed.state))
        validations = [*victim.witness.validated, *resumed.witness.validated]
        assert validations == whole.witness.validated


def test_a_run_ended_by_its_disk_says_so_and_keeps_what_there_is(tmp_path: Path) -> None:
    victim = run(tmp_path, max_epochs=1)
    before = victim.last.read_bytes()
    shutil.rmtree(victim.best.parent)
    victim.best.parent.write_text("a file where the directory should be")
    with (
        pytest.warns(UserWarning, match="The state at the interruption is lost: cannot write"),
        pytest.raises(InputError, match=r"cannot write .*best.ckpt: .*; write to a directory"),
    ):
        run(tmp_path, max_epochs=1)
    assert before


def test_more_epochs_or_steps_later(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", max_epochs=3)
    first = run(tmp_path / "epochs", max_epochs=1)
    second = run(tmp_path / "epochs", first.last, max_epochs=3)
    assert torch.equal(weights(whole.state), weights(second.state))
    assert second.witness.validated == whole.witness.validated[1:]
    run(tmp_path / "steps", max_epochs=-1, max_steps=15)
    for steps in (23, 30):
        later = run(
            tmp_path / "steps", tmp_path / "steps/checkpoints/last.ckpt", max_epochs=-1, max_steps=steps
        )
        assert later.trainer.global_step == steps
    assert torch.equal(weights(whole.state), weights(later.state))


def contents(run: Run) -> dict[str, Any]:
    """All values of both checkpoints, by their places; tensors as lists."""

    def flat(value: Any, place: str) -> dict[str, Any]:
        if isinstance(value, Tensor):
            return {place: (str(value.dtype), value.tolist())}
        if not isinstance(value, (dict, list, tuple)):
            return {place: value}
        children = value.items() if isinstance(value, dict) else enumerate(value)
        return {k: v for key, child in children for k, v in flat(child, f"{place}/{key}").items()}

    return {**flat(read_checkpoint(run.last), "last"), **flat(read_checkpoint(run.best), "best")}


class FilesSeen(Callback):
    """Notes which checkpoints there are at the start of each epoch, and which step they hold."""

    def __init__(self) -> None:
        self.steps: list[dict[str, int]] = []

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        folder = Path(trainer.default_root_dir) / "checkpoints"
        self.steps.append({p.stem: read_checkpoint(p)["global_step"] for p in sorted(folder.glob("*.ckpt"))})


def test_with_seconds_between_saves_the_files_wait_and_are_the_same(tmp_path: Path) -> None:
    seen = FilesSeen()
    at_once = run(tmp_path / "at_once", max_epochs=4)
    late = run(
        tmp_path / "late", kill=seen, checkpoint=RunCheckpoint(seconds_between_saves=3600), max_epochs=4
    )
    assert seen.steps == [{}] * 4
    assert contents(late) == contents(at_once)
    assert late.witness.validated == at_once.witness.validated


class ScriptedFilesSeen(FilesSeen, Scripted):
    """Both: scripted values, and the files at the start of each epoch."""

    def __init__(self, *values: float) -> None:
        FilesSeen.__init__(self)
        Scripted.__init__(self, *values)


def test_the_files_are_written_when_it_is_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By this clock an epoch takes ten seconds."""
    seen = ScriptedFilesSeen(0.5, 0.9, 0.7, 0.8, 0.95, 0.1)
    clock = SimpleNamespace(monotonic=lambda: 10.0 * len(seen.steps))
    monkeypatch.setattr("pauc_lightning.callbacks.checkpoint.time", clock)
    checkpoint = RunCheckpoint(SCRIPTED, seconds_between_saves=25)
    done = run(tmp_path, kill=seen, checkpoint=checkpoint, max_epochs=6)
    assert seen.steps == [{}, {}, {}, *[{"best": 20, "last": 30}] * 3]
    assert read_checkpoint(done.last)["global_step"] == 60
    best = read_checkpoint(done.best)
    assert best["global_step"] == 50
    assert torch.equal(weights(best["state_dict"]), seen.weights[4])


@pytest.mark.parametrize(
    ("hook", "saved"),
    [
        ("on_train_batch_end", {"best": 10, "last": 25}),  # between two steps
        ("on_before_optimizer_step", {"best": 10}),  # within one: the state is not whole
    ],
)
def test_an_exception_writes_what_has_waited(tmp_path: Path, hook: str, saved: dict[str, int]) -> None:
    script = Scripted(0.9, 0.5, 0.4)
    kill = Kill(hook, 25)
    checkpoint = RunCheckpoint(SCRIPTED, seconds_between_saves=3600)
    done = run(tmp_path, kill=_together(script, kill), checkpoint=checkpoint)
    assert done.was_killed
    assert {p.stem: read_checkpoint(p)["global_step"] for p in sorted(done.last.parent.iterdir())} == saved
    assert torch.equal(weights(read_checkpoint(done.best)["state_dict"]), script.weights[0])


def _together(script: Scripted, kill: Kill) -> Callback:
    kill.on_validation_epoch_end = script.on_validation_epoch_end  # type: ignore[method-assign]
    return kill


def test_a_killed_run_goes_on_from_an_older_file_to_the_same_end(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", max_epochs=4)
    killed = tmp_path / "killed"
    # Files as a kill leaves them: steps ask for a file now and then, the ends of epochs do not.
    settings: dict[str, Any] = {"seconds_between_saves": 3600, "every_n_train_steps": 25}
    run(
        tmp_path / "first",
        kill=Kill("on_train_batch_start", 38, killed),
        checkpoint=RunCheckpoint(**settings),
        max_epochs=4,
    )
    assert read_checkpoint(killed / "checkpoints/last.ckpt")["global_step"] == 25
    resumed = run(
        killed,
        resume=killed / "checkpoints/last.ckpt",
        checkpoint=RunCheckpoint(**settings),
        max_epochs=4,
    )
    assert all(torch.equal(resumed.state[key], value) for key, value in whole.state.items())
    assert float(resumed.checkpoint.best_model_score or 0) == float(whole.checkpoint.best_model_score or 0)
    assert read_checkpoint(resumed.best)["global_step"] == read_checkpoint(whole.best)["global_step"]


def test_trial_runs_write_nothing(tmp_path: Path) -> None:
    run(tmp_path, fast_dev_run=True)
    assert not (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"mode": "highest"}, "`mode` must be one of"),
        ({"every_n_train_steps": 0}, "`every_n_train_steps` must be at least 1, got 0"),
        ({"seconds_between_saves": -1}, "`seconds_between_saves` must be .*got -1"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        RunCheckpoint(**settings)


def test_a_metric_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"`monitor=val/pacu`: .* one of these: .*val/pauc"):
        run(tmp_path, checkpoint=RunCheckpoint("val/pacu"), max_epochs=1)


# ---------------------------------------------------------------------- two processes


class DieAlone(Callback):
    """Rank 0 dies; rank 1 waits in mid-run until it is dead."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step == 3:
            while trainer.global_rank == 1 and not self.marker.exists():
                time.sleep(0.01)
            raise Killed


def two_processes(rank: int, folder: Path) -> dict[str, Any]:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", TORCHELASTIC_RUN_ID="test")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29500", GROUP_RANK="0", LOCAL_WORLD_SIZE="2")
    settings: dict[str, Any] = {"devices": 2, "strategy": "ddp", "max_epochs": 2}
    settings["module"] = partial(
        build, UPAUCI, weights="ascent"
    )  # initialised by an evaluation after the warm-up
    whole = run(folder / "whole", **settings)
    victim = run(folder / "run", kill=DieAlone(folder / "dead"), **settings)
    if rank == 0:
        (folder / "dead").touch()
    assert victim.was_killed
    torch.distributed.barrier()
    second = run(folder / "run", victim.last, kill=Kill("on_validation_batch_start", 5), **settings)
    assert second.was_killed
    torch.distributed.barrier()
    resumed = run(folder / "run", victim.last, **settings)
    late = run(folder / "late", checkpoint=RunCheckpoint(seconds_between_saves=3600), **settings)
    torch.distributed.barrier()
    return {
        "late": contents(late) == contents(whole),
        "whole": whole.state,
        "resumed": resumed.state,
        "validated": (whole.witness.validated, resumed.witness.validated),
        "best": (
            float(whole.checkpoint.best_model_score or 0),
            float(resumed.checkpoint.best_model_score or 0),
        ),
        "steps": (whole.trainer.global_step, resumed.trainer.global_step),
    }


def test_two_processes_resume_and_none_waits_for_a_dead_one(tmp_path: Path) -> None:
    for result in run_on_ranks(two_processes, 2, tmp_path):
        for key, value in result["whole"].items():
            assert torch.equal(value, result["resumed"][key]), key
        whole, resumed = result["validated"]
        assert resumed == whole
        assert result["best"][0] == result["best"][1]
        assert result["steps"] == (10, 10)
        assert result["late"]
