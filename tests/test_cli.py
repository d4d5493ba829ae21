"""The command line as users call it: the shipped YAML files, in process."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from pauc_lightning.cli import main, runs
from pauc_lightning.data import DigitsLT
from pauc_lightning.metrics.functional import binary_partial_auc

ROOT = Path(__file__).parent.parent
METHODS = sorted(path for path in (ROOT / "configs/method").glob("*.yaml") if "." not in path.stem)
DIGITS = ROOT / "configs/data/digits.yaml"


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])


def run(*arguments: object) -> None:
    main([str(argument) for argument in arguments])


def fit(method: Path, *arguments: object) -> None:
    run("fit", "-c", DIGITS, "-c", method, *SMALL, *arguments)


SMALL = ("--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false", "--trainer.log_every_n_steps=2")


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        run(*arguments)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize("method", METHODS, ids=lambda path: path.stem)
@pytest.mark.parametrize("min_tpr", [0.0, 0.5], ids=["one-way", "two-way"])
def test_every_shipped_method_trains(
    method: Path, min_tpr: float, capsys: pytest.CaptureFixture[str]
) -> None:
    if method.stem == "agd_sbcd" and min_tpr > 0:
        said = refused(capsys, "fit", "-c", DIGITS, "-c", method, *SMALL, f"--model.min_tpr={min_tpr}")
        assert "min_tpr" in said
        return
    warmup = () if method.stem == "ce" else ("--model.warmup_epochs=1",)
    fit(method, "--trainer.max_epochs=2", f"--model.min_tpr={min_tpr}", *warmup)
    said = capsys.readouterr().out
    assert "Next:  pauc test runs/" in said
    (folder,) = Path("runs").glob("*/version_0")
    assert {path.name for path in (folder / "checkpoints").iterdir()} == {"best.ckpt", "last.ckpt"}
    with (folder / "metrics.csv").open() as file:
        values = [float(row["val/pauc"]) for row in csv.DictReader(file) if row["val/pauc"]]
    assert len(values) == 2
    assert all(0 <= value <= 1 for value in values)


def test_test_and_predict_reproduce_the_numbers_of_fit(capsys: pytest.CaptureFixture[str]) -> None:
    fit(ROOT / "configs/method/ce.yaml", "--trainer.max_epochs=3", "--test_best=true")
    said = capsys.readouterr().out
    folder = Path("runs/DigitsLT-CE/version_0")
    numbers = json.loads((folder / "test_metrics.json").read_text())
    intervals = json.loads((folder / "test_intervals.json").read_text())
    own = intervals["metrics"]["opauc_fpr0.3"]
    assert own["value"] == numbers["opauc_fpr0.3"] == numbers["pauc"]
    assert f"{own['value']:8.4f}  [{own['low']:.4f}, {own['high']:.4f}]  ◂ optimised" in said
    assert intervals["metrics"]["tpr_at_fpr0.3"]["value"] == pytest.approx(numbers["tpr_at_fpr"])
    for title in (
        "AUC",
        "OPAUC (FPR ≤ 0.3)",
        "OPAUC (FPR ≤ 0.5)",
        "TPAUC (FPR ≤ 0.3, TPR ≥ 0.7)",
        "TPAUC (FPR ≤ 0.5, TPR ≥ 0.5)",
        "TPR at FPR ≤ 0.3",
    ):
        assert title in said
    assert (folder / "figures/test_roc.png").stat().st_size > 10_000

    assert said.splitlines()[-1] == f"Next:  pauc predict {folder}"
    run("test", folder)
    assert capsys.readouterr().out.splitlines()[-1] == f"Next:  pauc predict {folder}"
    assert json.loads((folder / "test/version_0/test_metrics.json").read_text()) == numbers

    run("predict", folder)
    with (folder / "predict/version_0/predictions.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["index"]) for row in rows] == DigitsLT().split.test.tolist()
    scores = torch.tensor([float(row["score"]) for row in rows], dtype=torch.float64)
    labels = torch.tensor([int(row["label"]) for row in rows])
    value = binary_partial_auc(scores, labels, max_fpr=0.3)
    assert float(value) == pytest.approx(numbers["opauc_fpr0.3"], abs=1e-7)

    run("validate", folder)
    assert (folder / "validate/version_0/val_metrics.json").is_file()


def curve(folder: Path) -> list[tuple[str, str]]:
    with (folder / "metrics.csv").open() as file:
        return [(row["epoch"], row["step"]) for row in csv.DictReader(file) if row["val/pauc"]]


def test_a_resumed_run_goes_on_in_its_directory(capsys: pytest.CaptureFixture[str]) -> None:
    fit(ROOT / "configs/method/ce.yaml", "--trainer.max_epochs=2")
    folder = Path("runs/DigitsLT-CE/version_0")
    settings = (folder / "config.yaml").read_text()
    run("resume", folder)
    assert "had already finished" in capsys.readouterr().out
    assert (folder / "config.yaml").read_text() == settings
    run("resume", folder, "--trainer.max_epochs=3")
    assert curve(folder) == [("0", "4"), ("1", "9"), ("2", "14")]
    assert "ckpt_path: null" in (folder / "config.yaml").read_text()
    assert (folder / "config_1.yaml").read_text() == settings
    assert torch.load(folder / "checkpoints/last.ckpt", weights_only=True)["global_step"] == 15
    assert [path.name for path in Path("runs/DigitsLT-CE").iterdir()] == ["version_0"]


def test_settings_that_change_in_the_middle_of_a_run_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    fit(ROOT / "configs/method/ce.yaml", "--trainer.max_epochs=1")
    folder = Path("runs/DigitsLT-CE/version_0")
    run("resume", folder, "--trainer.max_epochs=2", "--data.num_workers=0", "--test_best=true")
    assert "warning" not in capsys.readouterr().err
    run("resume", folder, "--trainer.max_epochs=3", "--data.batch_size=32", "--seed_everything=7")
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: "))
    assert "data.batch_size is 32 instead of 128" in line
    assert "seed_everything is 7 instead of 0" in line
    assert "max_epochs" not in line


def files_of(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


def test_a_resume_that_is_refused_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The new settings used to be kept although they cannot work, so that the run could not be resumed any more."""
    fit(ROOT / "configs/method/ce.yaml", "--trainer.max_epochs=2")
    folder = Path("runs/DigitsLT-CE/version_0")
    before = files_of(folder)
    for option, words in {
        "--trainer.max_epochs=1": "`trainer.max_epochs=1`, but the run has done 2 epochs already",
        "--trainer.max_epohcs=4": "`pauc resume`. Did you mean `--trainer.max_epochs`?",
        "--model.backbone.hidden=[3]": "does not fit CE",
        "--model=AUCM": "`model=AUCM`, but",
        "--data.seed=5": "the data are not those that the run was trained on: parts",
        "--data.positive_classes=[1]": "the data are not those that the run was trained on: parts",
    }.items():
        assert words in refused(capsys, "resume", folder, "--trainer.max_epochs=3", option)
        assert files_of(folder) == before, option


def test_samples_that_were_trained_on_are_not_tested(capsys: pytest.CaptureFixture[str]) -> None:
    """With another seed the test part holds training samples: the value was far too good, without a word."""
    fit(ROOT / "configs/method/ce.yaml", "--trainer.max_epochs=1")
    folder = Path("runs/DigitsLT-CE/version_0")
    before = files_of(folder)
    for command in ("test", "validate", "predict"):
        assert "parts differ" in refused(capsys, command, folder, "--data.seed=5")
    assert files_of(folder) == before
    run("test", folder, "--data.batch_size=32", "--data.seed=0")


def test_a_run_is_trained_by_one_process_at_a_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that were resumed at once wrote both their epochs into one metrics.csv."""
    fit(ROOT / "configs/method/ce.yaml", "--trainer.max_epochs=1")
    folder = Path("runs/DigitsLT-CE/version_0")
    before = files_of(folder)
    monkeypatch.setattr(runs, "_LOCK_SECONDS", 0)
    with runs.held(folder):
        said = refused(capsys, "resume", folder, "--trainer.max_epochs=2")
    assert f"{folder} is being trained by another process" in said
    assert files_of(folder) == before
    run("resume", folder, "--trainer.max_epochs=2")
    assert curve(folder) == [("0", "4"), ("1", "9")]


def test_the_best_value_is_called_what_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    for monitor, title in {"val/auc": "AUC", "val/pauc": "OPAUC (FPR ≤ 0.3)"}.items():
        fit(ROOT / "configs/method/ce.yaml", "--trainer.max_epochs=1", f"--checkpoint.monitor={monitor}")
        assert f"Best validation {title}: " in capsys.readouterr().out


def test_another_checkpoint_than_the_last_begins_a_new_run() -> None:
    fit(ROOT / "configs/method/ce.yaml", "--trainer.max_epochs=2")
    folder = Path("runs/DigitsLT-CE/version_0")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    copy = folder / "checkpoints/epoch2.ckpt"
    shutil.copy(folder / "checkpoints/last.ckpt", copy)
    run("fit", "-c", folder / "config.yaml", "--ckpt_path", copy, "--trainer.max_epochs=3")
    assert {path: path.read_bytes() for path in before} == before
    assert curve(Path("runs/DigitsLT-CE/version_1")) == [("2", "14")]


def test_the_name_of_a_checkpoint_needs_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    """`test --ckpt_path last` without a run used to test an untrained network."""
    ce = ROOT / "configs/method/ce.yaml"
    for command in ("fit", "test", "validate", "predict"):
        for name in ("last", "best"):
            said = refused(capsys, command, "-c", DIGITS, "-c", ce, *SMALL, f"--ckpt_path={name}")
            assert f"`ckpt_path={name}`: which run's?" in said
    assert not Path("runs").exists()


def test_a_run_that_is_refused_late_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The weights do not fit, which is found when the run's directory has been claimed."""
    fit(ROOT / "configs/method/ce.yaml", "--trainer.max_epochs=1", "--run_name=first")
    weights = Path("runs/first/version_0/checkpoints/last.ckpt")
    said = refused(
        capsys,
        *("fit", "-c", DIGITS, "-c", ROOT / "configs/method/ce.yaml", *SMALL, "--run_name=second"),
        *(f"--model.init_weights={weights}", "--model.backbone.hidden=[3]"),
    )
    assert "init_weights" in said
    assert [path.name for path in Path("runs").iterdir()] == ["first"]


def test_a_checkpoint_that_disagrees_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    fit(ROOT / "configs/method/ce.yaml", "--trainer.max_epochs=1")
    capsys.readouterr()
    folder = Path("runs/DigitsLT-CE/version_0")
    common = ("test", "-c", folder / "config.yaml", "--ckpt_path", folder / "checkpoints/last.ckpt", *SMALL)
    run(*common)
    assert "warning" not in capsys.readouterr().err
    run(*common, "--model.learning_rate=0.9")
    assert "learning_rate: asked for 0.9, using 0.01" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model.learning_rat=3"], "Did you mean `learning_rate`?"),
        (["--trainer.max_epohcs=3"], "Did you mean `--trainer.max_epochs`?"),
        (["--model.backbone.hiden=[3]"], "Did you mean `hidden`?"),
        (["--model=EC"], "Did you mean `CE`?"),
        (["--data=DigtsLT"], "Did you mean `DigitsLT`?"),
        (["--model.max_fpr=30"], "for 30 % write max_fpr=0.3"),
        (["--data.positive_classes=[11]"], "11"),
        (["--ckpt_path=nothing.ckpt"], "no such file"),
        (["--trainer.gradient_clip_val=1"], "gradient_clip_norm"),
        (["-c", "nothing.yaml"], "nothing.yaml"),
        (["--trainer.max_epochs=0"], "trains nothing"),
        (["--trainer.max_steps=0"], "trains nothing"),
        (["--trainer.limit_train_batches=0"], "trains nothing"),
        (["--seed_everything=-1"], "`seed_everything` must be from 0"),
        (["--run_name=a/b"], "`run_name` becomes a directory"),
        (["--trainer.strategy=nonsense"], "nonsense"),
        (["--model.learning_rate=-1"], "`learning_rate` must be a finite number of at least 0"),
        ([f"--ckpt_path={DIGITS}"], "is not a checkpoint"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_mistakes_end_in_a_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, "fit", "-c", DIGITS, "-c", ROOT / "configs/method/ce.yaml", *SMALL, *arguments)
    assert said in message
    assert not Path("runs").exists()


def test_a_forgotten_method_or_checkpoint_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "-c upauci" in refused(capsys, "fit", "-c", DIGITS, "--model.backbone=MLPScorer")
    ce = ROOT / "configs/method/ce.yaml"
    weights = f"--model.init_weights={DIGITS}"
    assert "is not a checkpoint" in refused(capsys, "fit", "-c", DIGITS, "-c", ce, *SMALL, weights)
    for command in ("test", "validate", "predict"):
        assert "needs a trained model" in refused(capsys, command, "-c", DIGITS, "-c", ce)


def test_a_run_that_turns_nan_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(
        capsys,
        *("fit", "-c", DIGITS, "-c", ROOT / "configs/method/ce.yaml", *SMALL),
        *("--trainer.max_epochs=3", "--trainer.log_every_n_steps=50", "--model.learning_rate=1e30"),
    )
    assert re.search(
        r"stopped at step \d+ \(epoch 0\): .* not finite for the batch of samples .*lower the step", said
    )
    (snapshot,) = Path("runs").glob("*/version_0/nonfinite_step*_rank0.pt")
    assert snapshot.name in said


def test_typos_in_yaml_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    typo = tmp_path / "typo.yaml"
    typo.write_text("model:\n  class_path: CE\n  init_args:\n    leraning_rate: 0.1\n")
    assert "Did you mean `learning_rate`?" in refused(capsys, "fit", "-c", DIGITS, "-c", typo)
    typo.write_text("trianer:\n  max_epochs: 3\n")
    ce = ROOT / "configs/method/ce.yaml"
    assert "Did you mean `trainer" in refused(capsys, "fit", "-c", DIGITS, "-c", ce, "-c", typo)
    assert "Did you mean `fit`?" in refused(capsys, "fti")


def test_users_own_backbone_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_models.py").write_text(
        "from torch import nn\n"
        "class Mine(nn.Sequential):\n"
        "    def __init__(self, width: int = 4) -> None:\n"
        "        super().__init__(nn.Flatten(), nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 1))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    fit(
        ROOT / "configs/method/ce.yaml",
        "--trainer.max_epochs=1",
        "--model.backbone=my_models.Mine",
        "--model.backbone.width=5",
    )
    state = torch.load("runs/DigitsLT-CE/version_0/checkpoints/last.ckpt", weights_only=True)["state_dict"]
    assert state["backbone.1.weight"].shape == (5, 64)


def test_two_processes_through_the_command_line(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pauc_lightning", "fit", "-c", str(DIGITS)]
    command += ["-c", str(ROOT / "configs/method/upauci.yaml"), *SMALL, "--test_best=true"]
    command += [
        "--trainer.devices=2",
        "--trainer.strategy=ddp",
        "--trainer.max_epochs=2",
        "--model.warmup_epochs=1",
    ]
    command += ["--wandb=offline", "--tensorboard=true"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("UPAUCI on the test part of DigitsLT") == 1
    (folder,) = tmp_path.glob("runs/*/version_*")
    assert len(list(folder.glob("wandb/offline-run-*"))) == 1
    assert not any(tmp_path.glob("wandb*"))
    assert list(folder.glob("tensorboard/events.*"))


def test_data_command_counts_parts(capsys: pytest.CaptureFixture[str]) -> None:
    run("data", "-c", DIGITS)
    said = capsys.readouterr().out
    assert "DigitsLT; positive: 3, 8" in said
    assert re.search(r"train +104 +536 +640", said)
