"""A run is calibrated when its training ends; `pauc test` judges the calibration, and `pauc predict` applies it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from lightning.pytorch import Trainer
from sklearn.metrics import brier_score_loss

from pauc_lightning.calibration import METHODS, Calibration, read_calibration
from pauc_lightning.callbacks import CalibrationKeeper
from pauc_lightning.cli import main
from pauc_lightning.cli.report import _print_calibration
from pauc_lightning.run_files import read_validation_scores

CONFIGS = Path(__file__).parents[2] / "configs"
QUIET = ("--trainer.enable_progress_bar=false", "--trainer.accelerator=cpu")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short cross-entropy run on batches with half positives."""
    folder = tmp_path_factory.mktemp("calibrated")
    main(
        [
            "fit",
            f"-c={CONFIGS / 'data/digits.yaml'}",
            f"-c={CONFIGS / 'method/ce.yaml'}",
            "--data.init_args.positive_fraction=0.5",
            f"--run_dir={folder}",
            "--trainer.max_epochs=3",
            *QUIET,
        ]
    )
    (found,) = folder.glob("*/version_0")
    return found


def predict(run: Path, output: Path, *options: str) -> pd.DataFrame:
    main(["predict", str(run), f"--output={output}", "--overwrite", *options, *QUIET])
    return pd.read_csv(output)


def refused(capsys: pytest.CaptureFixture[str], run: Path, *options: str) -> str:
    with pytest.raises(SystemExit):
        main(["predict", str(run), *options, *QUIET])
    return capsys.readouterr().err


def test_the_file_is_the_fit_of_the_validation_scores(run: Path) -> None:
    scores = read_validation_scores(run)
    prior = json.loads((run / "preprocessing.json").read_text())["prior"]
    assert prior == pytest.approx(0.5, abs=0.05)
    expected = Calibration.fit(scores.score, scores.label, prior)
    assert read_calibration(run) == expected
    assert Calibration.read(run / "calibration.json") == expected


def test_a_run_that_was_killed_before_it_wrote_the_file_is_calibrated_alike(
    run: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "killed"))
    (copy / "calibration.json").unlink()
    (copy / "validation_scores.npz").unlink()
    assert read_calibration(copy) == read_calibration(run)
    assert not (copy / "calibration.json").exists()


@pytest.mark.parametrize("method", METHODS)
def test_probabilities_stand_beside_the_scores(run: Path, tmp_path: Path, method: str) -> None:
    plain = predict(run, tmp_path / "plain.csv")
    found = predict(run, tmp_path / "scores.csv", "--calibrate", method, "--prior=0.01")
    assert list(found.columns) == ["index", "label", "score", "probability"]
    assert list(plain.columns) == ["index", "label", "score"]
    assert found["score"].tolist() == plain["score"].tolist()
    expected = read_calibration(run).method(method)(plain["score"].to_numpy(), prior=0.01)
    np.testing.assert_array_equal(found["probability"], expected)


def test_the_test_part_judges_all_of_them(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    test = predict(run, tmp_path / "test.csv", "--calibrate")  # platt, if none is named
    main(["test", str(run), *QUIET])
    (folder,) = (run / "test").glob("version_*")
    errors = json.loads((folder / "test_calibration.json").read_text())
    assert list(errors) == ["as scored", *METHODS]
    assert errors["platt"]["brier"] == pytest.approx(brier_score_loss(test["label"], test["probability"]))
    # Half of each batch were positives, a sixth of the data are: the sigmoid is too high, and all undo that.
    assert all(errors[method]["brier"] < errors["as scored"]["brier"] for method in METHODS)
    said = capsys.readouterr().out
    (row,) = re.findall(r"^platt +(.*)$", said, re.MULTILINE)
    assert row.split() == [f"{errors['platt'][name]:.4f}" for name in ("brier", "ece")]
    assert (folder / "figures" / "test_reliability.png").stat().st_size > 10_000
    assert "test_reliability.png" in said


def test_the_last_model_has_no_calibration(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, run, f"--output={tmp_path / 'x.csv'}", "--calibrate", "platt", "--ckpt_path=last")
    assert "belongs to the run's best model, but the scores are from last.ckpt" in said
    assert not (tmp_path / "x.csv").exists()


def test_mistakes_are_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Did you mean `platt`?" in refused(capsys, run, "--calibrate", "plat")
    assert "has no effect on scores: add `--calibrate platt`" in refused(capsys, run, "--prior=0.1")
    assert "`prior` must be a finite number in (0, 1), got 2.0" in refused(
        capsys, run, "--calibrate", "--prior=2"
    )
    assert not (run / "predict").exists()


@pytest.mark.parametrize(
    ("brier", "said"),
    [
        ({"platt": 0.0253, "isotonic": 0.0228}, "Better: --calibrate isotonic."),
        ({"platt": 0.0253, "isotonic": 0.0240}, "Better: take the column `score`."),
        ({"platt": 0.0236}, ""),
        ({"platt": 0.0153}, ""),
        ({}, ""),
    ],
)
def test_the_report_says_if_the_default_calibration_makes_probabilities_worse(
    brier: dict[str, float], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    keeper = CalibrationKeeper()
    values = {"as scored": 0.0235, **brier}
    keeper.errors = {name: {"brier": value, "ece": 0.01} for name, value in values.items()}
    trainer = Trainer(callbacks=[keeper], accelerator="cpu", logger=False, enable_checkpointing=False)
    _print_calibration(trainer)
    printed = capsys.readouterr().out
    assert printed.startswith("Probabilities")
    assert said in printed
    assert ("Platt scaling" in printed) == bool(said)
