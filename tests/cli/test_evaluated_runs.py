"""``pauc evaluate RUN`` and its neighbours on a run that was really trained, tested, and trained on."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pauc_lightning.cli import main
from pauc_lightning.run_files import read_scores, read_test_scores, write_scores

QUIET = ("--trainer.accelerator=cpu", "--trainer.enable_progress_bar=false", "--figures.every_n_epochs=0")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one epoch, which was tested, as ``short``, and the same run trained on to a better model as ``long``."""
    folder = tmp_path_factory.mktemp("evaluated")
    main(
        [
            *("fit", "-c", "digits", "-c", "ce", f"--run_dir={folder}", "--run_name=ce", *QUIET),
            *("--model.backbone=LinearScorer", "--model.learning_rate=0.01", "--trainer.max_epochs=1"),
            "--data.imbalance_ratio=0.05",
        ]
    )
    run = folder / "ce" / "version_0"
    main(["test", str(run), *QUIET])
    shutil.copytree(run, folder / "short")
    main(["resume", str(run), "--trainer.max_epochs=15", *QUIET])
    run.rename(folder / "long")
    return folder


@pytest.fixture
def runs(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the runs that a test may change, in the current directory."""
    for name in ("short", "long"):
        shutil.copytree(trained / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return Path()


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a refused command says."""
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def evaluated(run: Path) -> dict[str, Any]:
    """The values that `pauc evaluate` writes for a run."""
    main(["evaluate", str(run), "--json=numbers.json", "--overwrite"])
    found: dict[str, Any] = json.loads(Path("numbers.json").read_text())["scores"][str(run)]
    return found


def values_of_test(run: Path, version: int) -> dict[str, float]:
    """The values that a test printed."""
    values: dict[str, float] = json.loads((run / f"test/version_{version}/test_metrics.json").read_text())
    return values


def test_scores_of_an_earlier_model_never_meet_the_thresholds_of_the_present_one(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short, long = runs / "short", runs / "long"
    assert evaluated(short)["metrics"]["auc"]["value"] == pytest.approx(values_of_test(short, 0)["auc"])
    os.utime(long / "test/version_0/test_scores.npz")  # times say nothing, as copying changes them
    sentence = f"the test is of an earlier model: type `pauc test {long}`"
    for command in ("evaluate", "figure roc", "figure scores"):
        assert sentence in refused(capsys, *command.split(), str(long))
    main(["report", str(long)])
    said = capsys.readouterr().out
    assert f"The test of {long} is of an earlier model" in said
    assert f"Next:  pauc test {long}" in said
    assert "validation part, on which the best epoch was chosen" in Path("report.html").read_text()

    main(["test", str(long), "--ckpt_path=last", *QUIET])
    assert "the test is of another checkpoint than the best" in refused(capsys, "evaluate", str(long))
    main(["test", str(long), *QUIET])
    os.utime(long / "test/version_0/test_scores.npz")
    assert values_of_test(long, 2)["auc"] > values_of_test(long, 0)["auc"] + 0.1
    assert evaluated(long)["metrics"]["auc"]["value"] == pytest.approx(values_of_test(long, 2)["auc"])
    main(["report", str(long), "--overwrite"])
    assert "of an earlier model" not in capsys.readouterr().out


def test_a_test_by_an_earlier_version_counts_if_it_is_newer_than_the_best_model(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = runs / "short"
    scores = short / "test/version_0/test_scores.npz"
    write_scores(scores, read_scores(scores))  # it does not say which checkpoint it tested
    np.testing.assert_array_equal(read_test_scores(short).score, read_scores(scores).score)
    os.utime(scores, (0, 0))
    assert "the test is of an earlier model" in refused(capsys, "evaluate", str(short))
    scores.rename(short / "test_scores.npz")  # as --test_best keeps it: a better model would have removed it
    assert len(read_test_scores(short)) > 0
    shutil.copy(short / "test_scores.npz", scores)
    (short / "checkpoints/best.ckpt").unlink()
    assert len(read_test_scores(short)) > 0


def test_thresholds_of_another_delta_are_those_of_predict(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runs / "short"
    found: dict[str, str] = {}
    for delta in ("0.05", "0.5"):
        capsys.readouterr()
        main(
            [
                "predict",
                str(run),
                "--target_fpr=0.1",
                "--delta",
                delta,
                "--output=p.csv",
                "--overwrite",
                *QUIET,
            ]
        )
        match = re.search(r"score ≥ (\S+), the guaranteed threshold", capsys.readouterr().out)
        assert match is not None
        found[delta] = match[1]
        main(["evaluate", str(run), "--target_fpr=0.1", "--delta", delta])
        assert f"FPR ≤ 0.1    {match[1]} guaranteed" in capsys.readouterr().out
    assert found["0.05"] != found["0.5"]
    main(["evaluate", str(run), "--delta=0.5"])  # for the run's own rates
    said = capsys.readouterr().out
    assert re.search(r"FPR ≤ 0.01 .* guaranteed", said), "69 negatives are needed for δ = 0.5, 299 for 0.05"


def test_a_run_that_has_not_finished_is_said(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short = runs / "short"
    main(["evaluate", str(short)])
    assert "not finished" not in capsys.readouterr().out
    for name in ("operating_points.json", "validation_scores.npz", "calibration.json"):
        (short / name).unlink()  # as a better model does
    main(["evaluate", str(short)])
    assert f"The run {short} has not finished training: this is its model so far." in capsys.readouterr().out
