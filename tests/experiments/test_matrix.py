"""Matrices of runs: several data sets and backbones, any order, kills in the middle."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from pauc_lightning.benchmarks.resume import compare_runs
from pauc_lightning.checkpoint_io import read_checkpoint
from pauc_lightning.cli import main
from pauc_lightning.cli.configs import find_and_check
from pauc_lightning.experiments import comparison
from pauc_lightning.experiments.comparison import Comparison
from pauc_lightning.experiments.executors import Ended, Executor, InProcess, Job
from pauc_lightning.experiments.executors.base import OnProgress
from pauc_lightning.experiments.request import parse

ROOT = Path(__file__).parents[2]
EXPERIMENT = """\
# Two data sets and two backbones.
trainer: {accelerator: cpu, log_every_n_steps: 2}
compare:
  data:
    digits:
    zeros: {config: digits, data.positive_classes: [0]}
  backbones:
    linear: LinearScorer
    small: {class_path: MLPScorer, init_args: {hidden: [8]}}
  methods:
    ce:
    slow: {config: upauci, model.descent_lr: 0.007}
  regions: [0.3]
  seeds: [0]
  warmup_epochs: 1
  epochs: 1
"""
CODE = """\
import os
import signal
from pathlib import Path
from pauc_lightning.methods import CE

class Once(CE):
    '''Is stopped in its second epoch, the first time.'''

    def training_step(self, batch, batch_idx):
        if self.trainer.current_epoch == 1 and batch_idx == 1 and not Path("stopped").exists():
            Path("stopped").touch()
            if os.environ.get("KILL"):
                os.kill(os.getpid(), signal.SIGKILL)
            raise KeyboardInterrupt
        return super().training_step(batch, batch_idx)
"""


@pytest.fixture(autouse=True)
def _in_a_project_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    (tmp_path / "matrix.yaml").write_text(EXPERIMENT)
    (tmp_path / "stopping_methods.py").write_text(CODE)
    once = "model: {class_path: stopping_methods.Once, init_args: {learning_rate: 0.1}}\n"
    (tmp_path / "configs/method/once.yaml").write_text(once)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])
    monkeypatch.setattr(comparison, "n_cores", lambda: 1)


def run(*arguments: object) -> None:
    main([str(argument) for argument in arguments])


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        run(*arguments)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    return said


def settings(run_folder: Path) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((run_folder / "config.yaml").read_text())
    return config


def test_a_matrix_of_data_sets_and_backbones(capsys: pytest.CaptureFixture[str]) -> None:
    run("compare", "-c", "matrix.yaml")
    said = capsys.readouterr().out
    assert "[12/12] " in said
    tasks = [f"{data}, {backbone}" for data in ("digits", "zeros") for backbone in ("linear", "small")]
    assert re.findall(r"^(\w+, \w+):$", said, re.M) == tasks
    out = Path("runs/matrix")
    assert len(list(out.glob("*/*/warmup-seed0/version_*"))) == 4  # one for each data set, backbone and seed
    classes = {"linear": "LinearScorer", "small": "MLPScorer"}
    for task in tasks:
        data, backbone = task.split(", ")
        folder = out / data / backbone
        assert (folder / "roc.png").is_file()
        for method, step in (("ce", None), ("slow", 0.007)):
            config = settings(folder / f"{method}-opauc_fpr0.3-seed0/version_0")
            arguments = config["model"]["init_args"]
            assert arguments.get("descent_lr") == step
            assert arguments["backbone"]["class_path"].endswith(classes[backbone])
            assert arguments["init_weights"] == str(folder / "warmup-seed0/version_0/checkpoints/last.ckpt")
            assert config["data"]["init_args"]["positive_classes"] == ([0] if data == "zeros" else [3, 8])
            assert config["trainer"]["log_every_n_steps"] == 2  # the section for every run
            assert str(config["trainer"]["devices"]) == "1"
    rows = (out / "table.csv").read_text().splitlines()
    assert [row.split(",")[1:4] for row in rows[1:3]] == [
        ["digits", "linear", "ce"],
        ["digits", "linear", "slow"],
    ]
    assert (out / "table.tex").read_text().count(r"\begin{tabular}") == 4

    # The axes may grow, but what is there may not change its meaning.
    text = Path("matrix.yaml").read_text()
    Path("matrix.yaml").write_text(text.replace("    ce:\n", "    ce:\n    more: {config: ce}\n"))
    run("compare", "-c", "matrix.yaml", "--data_sets", "digits", "--backbones", "linear")
    assert "[1/1] digits, linear: more, OPAUC" in capsys.readouterr().out
    Path("matrix.yaml").write_text(text.replace("0.007", "0.008"))
    message = refused(capsys, "compare", "-c", "matrix.yaml")
    assert "holds runs of slow with other settings (options: --model.descent_lr=0.007, now" in message
    Path("matrix.yaml").write_text(text.replace("[0]}", "[1]}"))
    assert "holds runs of zeros with other settings" in refused(capsys, "compare", "-c", "matrix.yaml")
    Path("matrix.yaml").write_text(text.replace("log_every_n_steps: 2", "log_every_n_steps: 3"))
    assert "made with another version of matrix.yaml" in refused(capsys, "compare", "-c", "matrix.yaml")
    Path("matrix.yaml").write_text(text)
    assert "(threads: 1, now 2)" in refused(capsys, "compare", "-c", "matrix.yaml", "--threads", 2)


def test_every_combination_is_checked_before_anything_is_trained(capsys: pytest.CaptureFixture[str]) -> None:
    text = Path("matrix.yaml").read_text()
    Path("matrix.yaml").write_text(text.replace("{hidden: [8]}", "{hiden: [8]}"))
    message = refused(capsys, "compare", "-c", "matrix.yaml")
    assert "digits, small: " in message
    assert "Did you mean `hidden`?" in message
    Path("matrix.yaml").write_text(text.replace("log_every_n_steps: 2", "log_every_n_step: 2"))
    message = refused(capsys, "compare", "-c", "matrix.yaml")
    assert "in matrix.yaml" in message
    assert "Did you mean `trainer.log_every_n_steps`?" in message
    assert "num_nodes" in refused(capsys, "compare", "-c", "digits", "--trainer.num_nodes=2")
    assert not Path("runs").exists()


def test_other_commands_point_to_compare(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "fit", "-c", "matrix.yaml", "-c", "ce")
    assert "Type `pauc compare` with it" in said


def test_a_start_by_torchrun_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    assert "without torchrun" in refused(capsys, "compare", "-c", "matrix.yaml")


class Backwards(Executor):
    """Runs three jobs at a time, the last one first, and reports the ends of two at once."""

    def __init__(self) -> None:
        self._inner = InProcess(main)
        self._jobs: list[Job] = []
        self.most_at_a_time = 0
        self.order: list[str] = []

    @property
    def slots(self) -> int:
        return 3

    def start(self, job: Job) -> None:
        self._jobs.append(job)
        self.most_at_a_time = max(self.most_at_a_time, len(self._jobs))

    def wait(self, on_progress: OnProgress) -> Sequence[Ended]:
        ended: list[Ended] = []
        for _ in range(min(2, len(self._jobs))):
            job = self._jobs.pop()
            self._inner.start(job)
            ended += self._inner.wait(on_progress)
            self.order.append(job.name)
        return ended


def test_the_order_makes_no_difference_to_any_bit() -> None:
    arguments = ["-c", "matrix.yaml", "--data_sets", "digits", "--backbones", "small", "--seeds", "0", "1"]
    run("compare", *arguments, "--out", "forwards")
    executor = Backwards()
    plan = parse([*find_and_check(arguments), "--out", "backwards"])
    Comparison(plan, main, "pauc compare", lambda: executor).run()
    assert executor.most_at_a_time == 3
    assert executor.order[:2] == ["digits/small/warmup-seed1", "digits/small/warmup-seed0"]
    assert sorted(executor.order) != executor.order
    for name in ("table.csv", "table.md", "table.tex"):
        assert Path("forwards", name).read_text() == Path("backwards", name).read_text()
    runs = [path.parent for path in Path("forwards").glob("*/*/*/version_0/config.yaml")]
    assert len(runs) == 2 + 4
    for folder in runs:
        assert compare_runs(folder, Path("backwards") / folder.relative_to("forwards")) == []


ONCE = (
    *("compare", "-c", "digits", "--methods", "once", "--seeds", 0, "--warmup_epochs=1", "--epochs=3"),
    "--checkpoint.seconds_between_saves=0",  # cells this short would otherwise save at their end only
)


def uninterrupted_run() -> Path:
    """The same run, never stopped, because the file is there that tells of an earlier stop."""
    assert Path("stopped").exists()
    run(*ONCE, "--out=whole", "--trainer.accelerator=cpu")
    return Path("whole/once-opauc_fpr0.3-seed0/version_0")


def test_an_interrupted_run_goes_on_where_it_was_unless_the_settings_changed() -> None:
    folder = Path("runs/compare/once-opauc_fpr0.3-seed0")
    with pytest.raises(SystemExit) as stopped:
        run(*ONCE, "--trainer.accelerator=cpu")
    assert stopped.value.code == 130
    assert not (folder / "version_0/fit.json").exists()
    shutil.copytree("runs/compare", "runs/changed")
    before = read_checkpoint(folder / "version_0/checkpoints/last.ckpt")["global_step"]
    run(*ONCE, "--trainer.accelerator=cpu")
    assert [path.name for path in folder.glob("version_*")] == ["version_0"]
    assert read_checkpoint(folder / "version_0/checkpoints/last.ckpt")["global_step"] == 3 * before
    assert compare_runs(uninterrupted_run(), folder / "version_0") == []
    results = (path / "table.csv" for path in (Path("whole"), Path("runs/compare")))
    assert len({result.read_text() for result in results}) == 1

    # Moved or with other options, it starts again: only the very same training may go on.
    shutil.rmtree("runs/compare")
    shutil.move("runs/changed", "runs/compare")
    with pytest.raises(SystemExit):
        run(*ONCE, "--trainer.accelerator=cpu", "--model.momentum=0.5")
    shutil.rmtree("runs/compare/warmup-seed0")
    run(*ONCE, "--trainer.accelerator=cpu", "--model.momentum=0.5")
    assert (folder / "version_1/test_metrics.json").is_file()
    assert not (folder / "version_0/test_metrics.json").exists()


def test_a_killed_comparison_goes_on_and_ends_with_the_same_bits() -> None:
    command = [sys.executable, "-m", "pauc_lightning", *map(str, ONCE), "--trainer.accelerator=cpu"]
    environment = {**os.environ, "KILL": "1"}
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert killed.returncode == -9
    folder = Path("runs/compare/once-opauc_fpr0.3-seed0")
    assert (folder / "version_0/checkpoints/last.ckpt").is_file()
    assert json.loads((folder / "started.json").read_text())["version"] == 0
    run(*ONCE, "--trainer.accelerator=cpu")
    assert [path.name for path in folder.glob("version_*")] == ["version_0"]
    assert compare_runs(uninterrupted_run(), folder / "version_0") == []


def test_a_run_on_two_processes(capsys: pytest.CaptureFixture[str]) -> None:
    """Lightning starts the second process of each cell by itself, and the comparison runs once."""
    run(
        *("compare", "-c", "digits", "--methods", "ce", "--seeds", 0, "--warmup_epochs=0", "--epochs=1"),
        *("--trainer.accelerator=cpu", "--trainer.devices=2", "--trainer.strategy=ddp"),
    )
    said = capsys.readouterr().out
    assert said.count("[1/1] ce, OPAUC") == 1
    folder = Path("runs/compare/ce-opauc_fpr0.3-seed0/version_0")
    assert str(settings(folder)["trainer"]["devices"]) == "2"
    assert (
        "All distributed processes registered. Starting with 2 processes"
        in (folder.parent / "log.txt").read_text()
    )
