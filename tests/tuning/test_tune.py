"""``pauc tune`` as users call it, and ``tune`` as other code calls it: real searches on the digits."""

from __future__ import annotations

import csv
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from matplotlib.figure import Figure
from rich.console import Console

from pauc_lightning.cli import main
from pauc_lightning.data import DigitsLT
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.executors import Ended, Executor, InProcess, Job, OnProgress
from pauc_lightning.experiments.executors.threads import threads
from pauc_lightning.experiments.live import Progress
from pauc_lightning.methods import PartialAUCModule
from pauc_lightning.tuning.display import LiveWatcher
from pauc_lightning.tuning.figure import plot_search
from pauc_lightning.tuning.request import TuneRequest
from pauc_lightning.tuning.result import TuneResult
from pauc_lightning.tuning.study import Search, Watcher, tune

ROOT = Path(__file__).parents[2]
CPU = "--trainer.accelerator=cpu"
FILES = {
    "good": ("{class_path: CE, init_args: {momentum: 0.5}}", "model.learning_rate: {log: [0.01, 1.0]}"),
    # Half of its choices explode, and the configured one does.
    "exploding": (
        "{class_path: CE, init_args: {learning_rate: 1.0e+30}}",
        "model.learning_rate: {choice: [1.0e+30, 0.1]}",
    ),
    "hopeless": (
        "{class_path: CE, init_args: {learning_rate: 1.0e+30}}",
        "model.learning_rate: {choice: [1.0e+30, 1.0e+31]}",
    ),
    # Weight decay that leaves nothing of the weights.
    "shrinking": (
        "{class_path: CE, init_args: {learning_rate: 0.1, momentum: 0.0}}",
        "model.weight_decay: {choice: [10.0, 9.0]}",
    ),
    "interrupted": ("{class_path: methods_to_tune.Interrupted}", "model.learning_rate: {log: [0.01, 1.0]}"),
    "plain": ("{class_path: CE}", None),
    "misspelt": (
        "{class_path: CE}",
        "model.weight_decay: {log: [1e-5, 1e-3]}\nmodel.momentun: {linear: [0, 0.9]}",
    ),
}
CODE = """\
from pauc_lightning.methods import CE

class Interrupted(CE):
    def training_step(self, batch, batch_idx):
        if self.learning_rate != 0.01:
            raise KeyboardInterrupt
        return super().training_step(batch, batch_idx)
"""


@pytest.fixture(autouse=True)
def _in_a_project_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    for name, (model, space) in FILES.items():
        (tmp_path / f"configs/method/{name}.yaml").write_text(f"model: {model}\n")
        if space is not None:
            (tmp_path / f"configs/method/{name}.search.yaml").write_text(f"{space}\n")
    (tmp_path / "methods_to_tune.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])


def search(*arguments: object, out: str = "out", warmup: int = 1, epochs: int = 1) -> None:
    lengths = (f"--warmup_epochs={warmup}", f"--epochs={epochs}", f"--out={out}")
    main(["tune", "-c", "digits", *lengths, *map(str, arguments), CPU])


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        search(*arguments)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def request(**changes: Any) -> TuneRequest:
    usual = TuneRequest(
        ("configs/data/digits.yaml",),
        ("good",),
        Path("out"),
        trials=3,
        warmup_epochs=1,
        epochs=1,
        options=(CPU,),
    )
    return replace(usual, **changes)


def trials_of(out: str = "out", method: str | None = None) -> list[dict[str, str]]:
    """The rows of trials.csv, without how long they took."""
    with (Path(out) / "trials.csv").open() as file:
        rows = [
            {key: value for key, value in row.items() if key != "seconds"} for row in csv.DictReader(file)
        ]
    return [row for row in rows if method in (None, row["method"])]


# ---------------------------------------------------------------------- what comes out


def test_budgets_are_equal_and_the_best_can_be_trained_again_bit_for_bit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    search("--methods", "good", "upauci", "--trials", 3, "--seeds", 0, 3, epochs=2)
    said = capsys.readouterr().out
    for method, default in (("good", {"learning_rate": "0.01"}), ("upauci", {"omega": "0.5", "k": "2.0"})):
        rows = trials_of(method=method)
        assert [row["trial"] for row in rows] == ["0", "1", "2"]
        assert {row["state"] for row in rows} == {"complete"}
        assert (
            default.items() <= {key.removeprefix("model."): value for key, value in rows[0].items()}.items()
        )
        for row in rows:
            assert float(row["value"]) == (float(row["seed_0"]) + float(row["seed_3"])) / 2
        best = max(rows, key=lambda row: float(row["value"]))
        assert f"| {float(rows[0]['value']):.4f} | {float(best['value']):.4f} |" in said

        file = Path(f"out/best_{method}.yaml")
        settings = yaml.safe_load(file.read_text())
        options = settings["model"]["init_args"]
        varied = {key: value for key, value in best.items() if key.startswith("model.") and value}
        assert {key: options[key.removeprefix("model.")] for key in varied} == {
            key: value if value == "auto" else json.loads(value) for key, value in varied.items()
        }
        assert options["warmup_epochs"] == 1
        assert settings["trainer"] == {"max_epochs": 3}
        assert options.get("momentum") == (0.5 if method == "good" else None)

        commands = [line for line in file.read_text().splitlines() if "pauc fit" in line]
        for seed, command in zip((0, 3), commands, strict=True):
            words = shlex.split(command.removeprefix("#"))
            assert words[:2] == ["OMP_NUM_THREADS=1", "pauc"]
            with threads(1):
                main([*words[2:], f"--run_dir=again{seed}", f"--run_name={method}"])
            metrics = Path(f"again{seed}/{method}/version_0/metrics.csv").read_text().splitlines()
            values = [float(row["val/pauc"]) for row in csv.DictReader(metrics) if row["val/pauc"]]
            assert max(values) == float(best[f"seed_{seed}"])


def test_the_next_command_takes_the_file_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    search(
        "--methods", "good", "--trials", 2, "--model.learning_rate", "1e-6"
    )  # as configured, it learns nothing
    command = capsys.readouterr().out.rpartition("Next:  ")[2]
    # An option that was given, but varied, would win over the file.
    assert "--model.learning_rate" not in command
    (repeat,) = (line for line in Path("out/best_good.yaml").read_text().splitlines() if "pauc fit" in line)
    assert "--model.learning_rate" not in repeat
    assert CPU in shlex.split(repeat)
    words = shlex.split(command)
    assert words[:6] == ["pauc", "fit", "-c", "digits", "-c", "out/best_good.yaml"]
    main(words[1:])
    config = yaml.safe_load(next(Path("runs").glob("*/version_0/config.yaml")).read_text())
    assert config["model"]["init_args"]["learning_rate"] == float(
        max(trials_of(), key=lambda row: float(row["value"]))["model.learning_rate"]
    )
    assert config["trainer"]["max_epochs"] == 2


def test_the_test_part_is_never_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even if a config asks for the test."""

    def no(*_: object, **__: object) -> None:
        raise AssertionError("the test part was used")

    monkeypatch.setattr(PartialAUCModule, "test_step", no)
    monkeypatch.setattr(DigitsLT, "test_dataloader", no)
    Path("tested.yaml").write_text("test_best: true\n")
    search("-c", "tested.yaml", "--methods", "good", "upauci", "--trials", 2)
    assert {row["state"] for row in trials_of()} == {"complete"}
    assert not list(Path("out").rglob("*test*"))


def test_methods_without_a_search_file_say_what_was_varied(capsys: pytest.CaptureFixture[str]) -> None:
    search("--methods", "plain", "--trials", 2, warmup=0)
    assert "plain has no search file: learning_rate and weight_decay were varied." in capsys.readouterr().out
    assert not list(Path("out").glob("warmup-*"))
    rows = trials_of()
    assert rows[0]["model.learning_rate"] == "0.01"
    assert rows[1]["model.learning_rate"] != "0.01"
    assert "init_weights" not in Path("out/best_plain.yaml").read_text()


# ---------------------------------------------------------------------- trials that go wrong


def test_failed_and_collapsed_trials_are_recorded_and_do_not_stop_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    search("--methods", "exploding", "shrinking", "--trials", 4, "--trainer.log_every_n_steps=2", epochs=2)
    rows = trials_of(method="exploding")
    states = {row["model.learning_rate"]: row["state"] for row in rows}
    assert states == {"1e+30": "failed", "0.1": "complete"}
    assert all(("log.txt" in row["problem"]) == (row["state"] == "failed") for row in rows)
    assert rows[0]["state"] == "failed"
    assert (
        yaml.safe_load(Path("out/best_exploding.yaml").read_text())["model"]["init_args"]["learning_rate"]
        == 0.1
    )
    shrunk = trials_of(method="shrinking")
    assert [row["state"] for row in shrunk][1:] == ["collapsed"] * 3
    assert max(shrunk, key=lambda row: row["state"] == "complete")["trial"] == "0"
    said = capsys.readouterr().out
    assert "3 of the failed trials of shrinking collapsed" in said
    assert "| exploding | 4 | 0 |" in said


def test_a_method_without_any_value_has_no_file_and_the_status_is_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as stopped:
        search("--methods", "hopeless", "good", "--trials", 2)
    assert stopped.value.code == 1
    assert not Path("out/best_hopeless.yaml").exists()
    assert Path("out/best_good.yaml").exists()
    assert "hopeless has no best settings. Its first failure:" in capsys.readouterr().out


def test_bad_trials_are_pruned_and_keep_no_checkpoint() -> None:
    """With a smaller and smaller step the later ones are worse than the median, and the best keeps its model."""
    Path("configs/method/good.search.yaml").write_text("model.learning_rate: {log: [1e-5, 0.3]}\n")
    result = tune(request(trials=9, epochs=4, seeds=(0, 1)), InProcess(main))
    of = result.methods["good"]
    pruned = [trial for trial in of.trials if trial.state == "pruned"]
    assert pruned
    best = of.best
    assert best is not None
    assert best.value == max(trial.value for trial in of.trials if trial.value is not None)
    for trial in pruned:
        last = trial.runs[-1]
        assert trial.number > 5
        assert last.pruned_at == len(last.curve) < 4
        known = [other for other in of.trials[: trial.known] if other.state == "complete"]
        at_that_time = sorted(max(other.runs[len(trial.runs) - 1].curve[: last.pruned_at]) for other in known)
        assert max(last.curve) < at_that_time[len(at_that_time) // 2]
    for trial in of.trials:
        for run in trial.runs:
            checkpoint = of.run_folder(trial, run.seed) / "checkpoints/best.ckpt"
            assert checkpoint.is_file() == (trial == best)


# ---------------------------------------------------------------------- stop, continue, extend


def test_a_search_that_is_killed_goes_on_and_finds_the_same() -> None:
    arguments = ("--methods", "upauci", "--trials", "3", "--seeds", "0", "1")
    command = [
        *(sys.executable, "-m", "pauc_lightning", "tune", "-c", "digits", "--warmup_epochs=1", "--epochs=2"),
        *("--out=killed", CPU, *arguments),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    half_done = Path("killed/upauci/trial001/seed1")  # the second seed of the second trial is being trained
    try:
        deadline = time.monotonic() + 240
        while not half_done.is_dir() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert half_done.is_dir()
    interrupted = json.loads((half_done.parent / "trial.json").read_text())
    assert interrupted["state"] == "running"
    before = {path: path.stat().st_mtime_ns for path in Path("killed").rglob("validation.json")}
    assert len(before) == 3
    search(*arguments, out="killed", epochs=2)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    search(*arguments, out="whole", epochs=2)
    assert trials_of("killed") == trials_of("whole")
    assert trials_of("killed", "upauci")[1]["model.omega"] == str(interrupted["parameters"]["model.omega"])


def test_a_search_can_be_extended_but_not_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    search("--methods", "good", "--trials", 2)
    first = trials_of()
    search("--methods", "good", "plain", "--trials", 3)
    assert "2 trials are finished already." in capsys.readouterr().out
    assert [len(trials_of(method=method)) for method in ("good", "plain")] == [3, 3]
    assert [{key: row[key] for key in first[0]} for row in trials_of(method="good")[:2]] == first
    search("--methods", "good", "--trials", 2)  # a smaller budget counts only its own trials
    assert trials_of() == first
    assert "epochs: 1, now 2" in refused(capsys, "--methods", "good", "--epochs=2")
    assert "region" in refused(capsys, "--methods", "good", "--region=0.1")
    digits = Path("configs/data/digits.yaml")
    before = digits.read_text()
    digits.write_text(f"{before}# a remark\n")
    said = refused(capsys, "--methods", "good")
    assert "another version of configs/data/digits.yaml" in said.replace("\n", " ")
    assert "class_path" not in said  # not the whole file
    digits.write_text(before)
    Path("configs/method/good.search.yaml").write_text("model.learning_rate: {log: [0.1, 1.0]}\n")
    assert "search space" in refused(capsys, "--methods", "good", "--trials", 3)


def test_an_interrupted_search_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        search("--methods", "interrupted", "--trials", 3)
    assert stopped.value.code == 130
    said = capsys.readouterr().err
    assert "To continue, type:\n  pauc tune " in said
    assert json.loads(Path("out/interrupted/trial000/trial.json").read_text())["state"] == "complete"


def test_a_refused_search_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().rglob("*"))
    said = refused(capsys, "--methods", "misspelt", "--trials", 2)
    assert "misspelt.search.yaml, line 2, `model.momentun`" in said
    assert "Did you mean `momentum`?" in said
    said = refused(capsys, "--methods", "good", "--data.positive_classes=[77]")
    assert "77" in said
    assert sorted(Path().rglob("*")) == before


# ---------------------------------------------------------------------- budgets and order


class Clock:
    """Every trial takes ten seconds."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class TenSecondsEach(InProcess):
    def __init__(self, clock: Clock) -> None:
        super().__init__(main)
        self._clock = clock

    def wait(self, on_progress: OnProgress) -> Sequence[Ended]:
        ended = super().wait(on_progress)
        if ended[0].job.name.partition("-")[0] != "check":
            self._clock.now += 10
        return ended


@pytest.mark.parametrize(("seconds", "rounds"), [(1.0, 1), (49.0, 1), (51.0, 2), (71.0, 3)])
def test_time_is_divided_into_whole_rounds(seconds: float, rounds: int) -> None:
    """A warm-up and two methods of 10 s each: a round that would end too late is not begun."""
    clock = Clock()
    asked = request(methods=("good", "plain"), trials=None, seconds=seconds)
    result = Search(asked, TenSecondsEach(clock), Watcher(), clock).run()
    # The first round ends after 10 + 20 s, the second after 50, the third after 70.
    assert clock.now == 10 + 20 * rounds
    assert {len(of.trials) for of in result.methods.values()} == {rounds}


class LastFirst(InProcess):
    """Two at a time; of two that were started, the later one ends first if ``reverse``."""

    def __init__(self, reverse: bool) -> None:
        super().__init__(main)
        self._reverse = reverse

    @property
    def slots(self) -> int:
        return 2

    def wait(self, on_progress: OnProgress) -> Sequence[Ended]:
        if self._reverse:
            self._started.reverse()
        try:
            return super().wait(on_progress)
        finally:
            if self._reverse:
                self._started.reverse()


def test_the_order_in_which_trials_end_does_not_matter() -> None:
    """Of the twelve trials the last two are proposed by what is known, the others at random."""
    results = []
    for reverse in (False, True):
        asked = request(out=Path(f"out{reverse}"), trials=12)
        executor: Executor = LastFirst(reverse)
        result = tune(asked, executor)
        results.append(
            [(trial.parameters, trial.value, trial.state) for trial in result.methods["good"].trials]
        )
    assert results[0] == results[1]


def test_two_processes_find_what_one_finds() -> None:
    """Two methods take turns on one process and run side by side on two."""
    search("--methods", "good", "upauci", "--trials", 3, out="one")
    search("--methods", "good", "upauci", "--trials", 3, "--processes", 2, out="two")
    assert trials_of("one") == trials_of("two")


# ---------------------------------------------------------------------- for other code


def test_other_code_gives_the_warm_ups_and_gets_settings() -> None:
    first = tune(request(trials=1), InProcess(main))
    elsewhere = request(
        out=Path("other"),
        methods=("mine",),
        method_configs={"mine": ("configs/method/good.yaml",)},
        method_options={"mine": ("--model.momentum=0.8",)},
        warm_ups=first.warm_ups,
    )
    result = tune(elsewhere, InProcess(main))
    assert not list(Path("other").glob("warmup-*"))
    of = result.methods["mine"]
    assert [len(of.trials), of.space.file] == [3, Path("configs/method/good.search.yaml")]
    best = of.best
    assert best is not None
    assert of.options == (f"--model.learning_rate={best.parameters['model.learning_rate']}",)
    run = yaml.safe_load((of.run_folder(best, 0) / "config.yaml").read_text())["model"]["init_args"]
    assert (run["momentum"], run["init_weights"]) == (0.8, str(first.warm_ups[0]))
    assert of.config.is_file()


def test_a_search_that_would_validate_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "--methods", "ce", "--epochs=1", "--trainer.check_val_every_n_epoch=2")
    assert (
        "`--epochs`: with `trainer.check_val_every_n_epoch: 2` none of a method's epochs, 1, would be validated"
        in message
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trials": 0}, "trials"),
        ({"trials": None}, "never ends"),
        ({"seconds": 0.0}, "seconds"),
        ({"epochs": 0}, "epochs"),
        ({"methods": ()}, "methods"),
        ({"pruning": "hard"}, "pruning"),
        ({"warm_ups": {1: Path("x.ckpt")}}, "warm_ups"),
    ],
)
def test_a_request_that_cannot_work_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        request(**changes)


# ---------------------------------------------------------------------- what is shown


class Looking(LiveWatcher):
    """Keeps what a terminal would show at every step."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.frames: list[str] = []

    def _look(self) -> None:
        with self._live.console.capture() as drawn:
            self._live.console.print(self._live.get_renderable())
        self.frames.append(drawn.get())

    def progresses(self, title: str, progress: Progress) -> None:
        super().progresses(title, progress)
        self._look()

    def ends(self, *arguments: Any, **others: Any) -> None:
        super().ends(*arguments, **others)
        self._look()


def test_the_live_display_and_the_figure() -> None:
    watcher = Looking(Console(width=120, force_terminal=True, color_system=None))
    result = tune(request(methods=("good", "hopeless"), trials=2), InProcess(main), watcher)
    assert any("▸ warm-up, seed 0" in frame for frame in watcher.frames)
    assert any("▸ good, trial 1, seed 0" in frame and "epoch 1 of 1" in frame for frame in watcher.frames)
    last = watcher.frames[-1]
    default, best = result.methods["good"].default.value, result.methods["good"].best
    assert best is not None
    assert "4/4 trials done" in last
    assert f"{default:.4f}" in last
    assert f"{best.value:.4f}" in last
    assert any("left" in frame for frame in watcher.frames)
    check_figure(plot_search(result), result)


def check_figure(figure: Figure, result: TuneResult) -> None:
    """One panel for the order and one for the only option, per method; all values are there."""
    assert [ax.get_xlabel() for ax in figure.axes] == ["trial", "learning_rate"] * 2
    values = {trial.value for trial in result.methods["good"].trials}
    drawn = {
        y for points in figure.axes[1].collections for y in np.asarray(points.get_offsets())[:, 1].tolist()
    }
    assert drawn == values


def test_jobs_have_the_requested_threads() -> None:
    seen: list[Job] = []

    class Noting(InProcess):
        def start(self, job: Job) -> None:
            seen.append(job)
            super().start(job)

    tune(request(trials=1, threads=2), Noting(main))
    assert {job.threads for job in seen if not job.name.startswith("check")} == {2}


def test_values_under_first_are_tried_first_and_one_at_a_time() -> None:
    Path("configs/method/good.search.yaml").write_text(
        "model.learning_rate: {log: [1e-5, 1], first: [0.1]}\nmodel.momentum: {choice: [0.0, 0.5], first: [0.0]}\n"
    )
    search("--methods", "good", "--trials", 4)
    rows = trials_of()
    tried = [(float(row["model.learning_rate"]), float(row["model.momentum"])) for row in rows]
    assert tried[:3] == [(0.01, 0.5), (0.1, 0.5), (0.01, 0.0)]
    assert tried[3] not in tried[:3]


def test_settings_under_first_are_tried_together() -> None:
    Path("configs/method/good.search.yaml").write_text(
        "model.learning_rate: {log: [1e-5, 1]}\nmodel.momentum: {choice: [0.0, 0.5]}\n"
        "first: [{model.learning_rate: 0.1, model.momentum: 0.0}, {model.learning_rate: 1.0}]\n"
    )
    search("--methods", "good", "--trials", 3)
    tried = [(float(row["model.learning_rate"]), float(row["model.momentum"])) for row in trials_of()]
    assert tried == [(0.01, 0.5), (0.1, 0.0), (1.0, 0.5)]


def test_what_is_left_out_is_said_and_a_search_of_nothing_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fraction = "data.positive_fraction: {choice: [null, 0.5], optional: true}\n"
    for method in ("good", "plain"):
        Path(f"configs/method/{method}.search.yaml").write_text(
            f"model.learning_rate: {{log: [0.01, 1]}}\n{fraction}data.label: {{choice: [a, b], optional: true}}\n"
        )
    search("--methods", "good", "plain", "--trials", 1, "--data.sampler=shuffled")
    said = capsys.readouterr().out.splitlines()
    assert "Not varied: data.positive_fraction of good, plain, because the batches are shuffled." in said
    assert "Not varied: data.label of good, plain, because the data have no such option." in said
    Path("configs/method/good.search.yaml").write_text(fraction)
    before = sorted(Path().rglob("*"))
    assert "varies nothing on these data" in refused(capsys, "--methods", "good", "--data.sampler=shuffled")
    Path("configs/method/good.search.yaml").write_text(fraction.replace("fraction", "fracton"))
    assert "Did you mean `positive_fraction`?" in refused(capsys, "--methods", "good")
    assert sorted(Path().rglob("*")) == before
