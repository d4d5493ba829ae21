"""Run directories: claimed by one process each, found again by name."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from pauc_lightning.cli.run_commands import translate
from pauc_lightning.cli.runs import claim_version, find_checkpoint, release
from pauc_lightning.errors import InputError
from pauc_lightning.run_directory import RunDirectory


def a_run(path: Path, *checkpoints: str) -> Path:
    (path / "checkpoints").mkdir(parents=True)
    (path / "config.yaml").write_text("trainer: {}\n")
    for name in checkpoints:
        (path / "checkpoints" / f"{name}.ckpt").write_bytes(b"")
    return path


def claim_many(folder: Path, barrier: object) -> list[int]:
    barrier.wait()  # type: ignore[attr-defined]
    return [claim_version(folder) for _ in range(20)]


def _claim_into(folder: Path, barrier: object, queue: object) -> None:
    queue.put(claim_many(folder, barrier))  # type: ignore[attr-defined]


def test_processes_that_start_at_once_get_different_directories(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier, queue = context.Barrier(4), context.Queue()
    processes = [
        context.Process(target=_claim_into, args=(tmp_path / "new", barrier, queue)) for _ in range(4)
    ]
    for process in processes:
        process.start()
    claimed = [version for _ in processes for version in queue.get(timeout=60)]
    for process in processes:
        process.join()
    assert sorted(claimed) == list(range(80))
    assert len(list((tmp_path / "new").glob("version_*"))) == 80


def test_a_version_follows_the_largest_and_is_never_reused_in_a_gap(tmp_path: Path) -> None:
    for name in ("version_0", "version_7", "version_x"):
        (tmp_path / name).mkdir()
    assert claim_version(tmp_path) == 8


def test_releasing_removes_only_what_has_recorded_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "runs/name"
    version = claim_version(folder)
    path = folder / f"version_{version}"
    (path / "config.yaml").write_text("")
    (path / "metrics.csv").write_text("step\n")
    release(path)
    assert (path / "metrics.csv").is_file()
    (path / "metrics.csv").unlink()
    release(path)
    assert list(tmp_path.iterdir()) == []


def test_commands_on_a_run_become_options(tmp_path: Path) -> None:
    run = str(a_run(tmp_path / "runs/a/version_0", "best", "last"))
    config = f"{run}/config.yaml"
    assert translate(["resume", run, "--x=1"]) == ["fit", "-c", config, "--ckpt_path", "last", "--x=1"]
    assert translate(["test", run]) == ["test", "-c", config, "--ckpt_path", "best"]
    assert translate(["predict", "-c", "x.yaml"]) == ["predict", "-c", "x.yaml"]
    assert translate(["resume", "--help"]) == ["fit", "--help"]
    assert find_checkpoint("last", [Path(config)]) == Path(run) / "checkpoints/last.ckpt"


def test_what_is_not_a_run_is_said_with_what_is(tmp_path: Path) -> None:
    a_run(tmp_path / "runs/a/version_0", "last")
    with pytest.raises(InputError, match=r"the newest, .*version_0"):
        translate(["test", str(tmp_path / "runs/a")])
    with pytest.raises(InputError, match="no such run"):
        translate(["resume", str(tmp_path / "runs/b")])
    with pytest.raises(InputError, match="is a file, not a run"):
        translate(["test", str(tmp_path / "runs/a/version_0/config.yaml")])
    with pytest.raises(InputError, match="has no config"):
        translate(["test", str(tmp_path)])
    with pytest.raises(InputError, match="needs the run's directory"):
        translate(["resume"])
    run = RunDirectory.open(str(tmp_path / "runs/a/version_0"))
    with pytest.raises(InputError, match="has no best checkpoint"):
        run.checkpoint("best")
    with pytest.raises(InputError, match="which run's"):
        find_checkpoint("last", [tmp_path / "some.yaml"])


def test_fits_started_at_once_keep_apart(tmp_path: Path) -> None:
    """Real processes; with Lightning's own numbering they usually shared a directory."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pauc_lightning", "fit", "-c", str(root / "configs/data/digits.yaml")]
    command += ["-c", str(root / "configs/method/ce.yaml"), "--trainer.max_epochs=1"]
    command += ["--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false"]
    started = [
        subprocess.Popen([*command, f"--seed_everything={seed}"], cwd=tmp_path, stdout=subprocess.DEVNULL)
        for seed in range(2)
    ]
    assert [process.wait(timeout=300) for process in started] == [0, 0]
    folders = sorted((tmp_path / "runs/DigitsLT-CE").iterdir())
    assert [folder.name for folder in folders] == ["version_0", "version_1"]
    configs = [(folder / "config.yaml").read_text().splitlines() for folder in folders]
    seeds = {line for lines in configs for line in lines if line.startswith("seed_everything:")}
    assert seeds == {"seed_everything: 0", "seed_everything: 1"}
