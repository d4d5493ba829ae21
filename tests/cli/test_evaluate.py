"""``pauc evaluate``: the numbers are those of the functions, and scores from elsewhere need nothing else."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from pauc_lightning.cli import main
from pauc_lightning.cli.scored_table import read_scored_table
from pauc_lightning.decisions import choose_operating_points, write_operating_points
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import (
    operating_point,
    partial_auc_difference,
    partial_auc_interval,
    tpr_at_fpr_interval,
)
from pauc_lightning.run_files import SavedScores, write_scores


def table(seed: int = 0, n: int = 2000) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.1).astype(int)
    patient = rng.integers(0, n // 4, n)
    shared = rng.normal(size=n // 4)[patient]
    good = rng.normal(size=n) + shared + 2.5 * y
    return pd.DataFrame(
        {
            "patient": patient,
            "y": y,
            "outcome": np.where(y == 1, "died", "alive"),
            "good": good,
            "bad": good + 3 * rng.normal(size=n),
            "same": good + 1e-3 * rng.normal(size=n),
        }
    )


@pytest.fixture(autouse=True)
def _tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table(0).to_csv("test.csv", index=False)
    table(1).to_parquet("validation.parquet")


def evaluated(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, dict[str, Any]]:
    main(["evaluate", *arguments, "--json=out.json", "--overwrite"])
    content: dict[str, Any] = json.loads(Path("out.json").read_text())
    return capsys.readouterr().out, content


def test_intervals_are_those_of_the_functions(capsys: pytest.CaptureFixture[str]) -> None:
    said, found = evaluated(capsys, "test.csv", "--label=y", "--score=good", "--max_fpr=0.05")
    frame = table(0)
    expected = partial_auc_interval(frame.good, frame.y, 0.05)
    assert found["scores"]["good"]["metrics"]["opauc_fpr0.05"] == pytest.approx(
        {name: getattr(expected, name) for name in ("value", "low", "high", "standard_error")}
    )
    assert f"{expected.value:8.4f}  [{expected.low:.4f}, {expected.high:.4f}]" in said
    recall = tpr_at_fpr_interval(frame.good, frame.y, 0.05)
    assert found["scores"]["good"]["metrics"]["tpr_at_fpr0.05"]["low"] == pytest.approx(recall.low)
    points = choose_operating_points(frame.good, frame.y, [0.01, 0.05]).points
    assert points[0].guaranteed is not None
    assert f" {points[0].guaranteed.threshold!r} " in said
    assert f" {points[1].empirical.threshold!r} " in said
    assert said.splitlines()[-1].startswith("Next:  pauc evaluate <other samples> --label y --score good")


def test_ahead_is_said_only_where_the_interval_excludes_zero(capsys: pytest.CaptureFixture[str]) -> None:
    frame = table(0)
    for other, verdict in (("bad", "good is ahead"), ("same", "these samples do not tell which is ahead")):
        said, found = evaluated(
            capsys, "test.csv", "--label=y", "--score=good", f"--against={other}", "--max_fpr=0.2"
        )
        expected = partial_auc_difference(frame.good, frame[other], frame.y, 0.2)
        assert found["difference"]["opauc_fpr0.2"]["low"] == pytest.approx(expected.low)
        compared = said.partition(f"good minus {other}, on the same samples")[2]
        (line,) = (line for line in compared.splitlines() if line.startswith("OPAUC"))
        assert line.endswith(verdict)
    said, _ = evaluated(capsys, "test.csv", "--label=y", "--score=bad", "--against=good")
    assert "good is ahead" in said  # whichever comes first


def test_thresholds_from_other_samples_are_applied_here(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--label=outcome", "--positive=died", "--score=good", "--target_fpr", "0.02", "0.001")
    said, found = evaluated(capsys, "test.csv", *arguments, "--thresholds_from=validation.parquet")
    validation, test = table(1), table(0)
    points = choose_operating_points(validation.good, validation.y, [0.001, 0.02]).points
    assert [point["kind"] for point in found["scores"]["good"]["operating_points"]] == [
        "empirical",
        "guaranteed",
    ]
    for point, measured in zip(points, found["scores"]["good"]["operating_points"], strict=True):
        here = operating_point(test.good, test.y, point.point.threshold)
        assert measured["threshold"] == point.point.threshold
        assert (measured["fpr"]["value"], measured["tpr"]["value"]) == (here.fpr, here.tpr)
    assert "takes at least 2,995 negatives" in said
    assert "thresholds chosen on validation.parquet" in said


def test_groups_are_resampled_as_a_whole(capsys: pytest.CaptureFixture[str]) -> None:
    frame = table(0, 1000)
    pd.concat([frame] * 5).to_csv("copies.csv", index=False)
    frame.to_csv("once.csv", index=False)
    arguments = ("--label=y", "--score=good", "--against=bad")
    widths = {}
    for name, options in {
        "once.csv": ("--group=patient",),
        "copies.csv": ("--group=patient",),
        "naive": ("--method=bootstrap",),
    }.items():
        file = "copies.csv" if name == "naive" else name
        said, found = evaluated(capsys, file, *arguments, *options)
        interval = found["scores"]["good"]["metrics"]["auc"]
        difference = found["difference"]["auc"]
        widths[name] = np.array([one["high"] - one["low"] for one in (interval, difference)])
        assert ("The guarantee of a threshold takes samples as independent" in said) == (name != "naive")
    assert widths["copies.csv"] == pytest.approx(widths["once.csv"], rel=0.15)
    assert (widths["naive"] < 0.6 * widths["once.csv"]).all()


def a_run(path: Path, seed: int, index: int = 0) -> Path:
    frame, validation = table(0), table(1)
    noise = np.random.default_rng(seed).normal(size=len(frame))
    path.mkdir()
    (path / "config.yaml").write_text("model: {init_args: {max_fpr: 0.1}}\n")
    test = SavedScores(
        frame.good.to_numpy() + seed * noise, frame.y.to_numpy(np.int8), np.arange(2000) + index
    )
    write_scores(path / "test_scores.npz", test)
    points = choose_operating_points(validation.good, validation.y, [0.05])
    write_operating_points(path, points)
    write_scores(
        path / "validation_scores.npz",
        SavedScores(validation.good.to_numpy(), validation.y.to_numpy(np.int8)),
    )
    return path


def test_two_runs_are_compared_on_their_test_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = a_run(tmp_path / "one", 1), a_run(tmp_path / "two", 4)
    said, found = evaluated(capsys, str(one), "--against", str(two))
    assert list(found["scores"]) == [str(one), str(two)]
    assert "opauc_fpr0.1" in found["difference"]  # the run's own region
    assert f"{one} is ahead" in said
    assert "chosen on the validation part" in said
    _, found = evaluated(capsys, str(one), "--target_fpr", "0.01", "--max_fpr=0.3")
    assert [point["target_fpr"] for point in found["scores"][str(one)]["operating_points"]] == [0.01]
    assert "opauc_fpr0.3" in found["scores"][str(one)]["metrics"]
    for wrong, sentence in (
        (a_run(tmp_path / "three", 2, index=1), "tested on other samples"),
        (Path("test.csv"), "must be a run"),
    ):
        with pytest.raises(SystemExit):
            main(["evaluate", str(one), "--against", str(wrong)])
        assert sentence in capsys.readouterr().err


def test_of_a_comparison_its_runs_can_be_evaluated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    comparison = tmp_path / "compare"
    (comparison / "ce-opauc_fpr0.1-seed0").mkdir(parents=True)
    (comparison / "comparison.json").write_text("{}")
    run = a_run(comparison / "ce-opauc_fpr0.1-seed0" / "version_0", 1)
    for command in ("evaluate", "test", "report"):
        with pytest.raises(SystemExit):
            main([command, str(comparison)])
        said = capsys.readouterr().err
        assert f"`{comparison}` is a comparison, not a run: name one of its runs" in said
    (run / "test_metrics.json").write_text("{}")
    with pytest.raises(SystemExit):
        main(["evaluate", str(run), "--against", str(comparison)])
    assert f"name one of its runs, such as {run}.\n" in capsys.readouterr().err
    main(["evaluate", str(run)])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("nothing.csv", "`FILE=nothing.csv`: no such file"),
        ("test.csv", "has no column 'label'"),
        ("test.csv --label=y --score=god", "has no column 'god'. Did you mean `good`?"),
        ("test.csv --label=outcome --score=good", "must be 0 or 1, got alive, died: say which"),
        ("test.csv --label=outcome --positive=dead --score=good", "has no such value, but alive, died"),
        ("test.csv --label=y --score=outcome", "must hold numbers"),
        ("test.csv --label=y --score=good --against=good", "is the column of --score"),
        ("test.csv --label=y --score=good --max_fpr=5", "`max_fpr` is a rate in [0, 1]"),
        ("test.csv --label=y --score=good --confidence=95", "`--confidence` must be"),
        ("test.csv --label=y --score=good --target_fpr 0", "`--target_fpr` must be"),
        (
            "test.csv --label=y --score=good --group=patient --method=analytic",
            "`--group` needs the bootstrap",
        ),
        ("test.csv --label=y --score=good --thresholds_from=test.csv", "is the file that is evaluated"),
        ("test.csv --label=y --score=good --method=exact", "`exact` does not exist"),
        ("gap.csv --label=y --score=good", "no value in 1 of 4 rows, first in row 2"),
        ("gap.csv --label=z --score=y", "got no negative"),
        (
            "test.csv --label=y --score=good --thresholds_from=alive.csv",
            "`--thresholds_from=alive.csv` must have both classes, got no positive among 2 rows",
        ),
        ("alive.csv --label=y --score=good", "`FILE=alive.csv` must have both classes, got no positive"),
        (
            "test.csv --label=y --score=y",
            "the column 'y' of `FILE=test.csv` holds the labels, so it cannot be",
        ),
        ("test.csv --label=y --score=good --against=y", "holds the labels, so it cannot be a score"),
        (". --group=patient", "`--group` is for files"),
        (". --label=y", "`--label` is for files"),
        (". --score=score", "`--score` is for files"),
        (".", "`.` is not a run: it has no config.yaml"),
    ],
)
def test_mistakes_end_in_a_sentence(
    arguments: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("gap.csv").write_text("y,z,good\n0,1,0.1\n1,1,0.2\n1,1,\n0,1,0.5\n")
    Path("alive.csv").write_text("y,good\n0,0.1\n0,0.2\n")
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", *arguments.split()])
    said = capsys.readouterr().err
    assert stopped.value.code == 2
    assert sentence in said
    assert "call update()" not in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--json=test.csv", "`--json test.csv` is FILE, which would be lost"),
        ("--json=./test.csv --overwrite", "`--json ./test.csv` is FILE, which would be lost"),
        ("--json=link.csv --overwrite", "`--json link.csv` is FILE, which would be lost"),
        (
            "--thresholds_from=validation.parquet --json=validation.parquet --overwrite",
            "`--json validation.parquet` is --thresholds_from, which would be lost",
        ),
        ("--json=mine.txt", "`--json mine.txt` exists: choose another name, or add --overwrite"),
        ("--json=. --overwrite", "`--json .` is a folder: give the name of a file"),
        ("--json=/", "`--json /` is a folder: give the name of a file"),
        ("--json=", "`--json` must be the path of a file"),
        (f"--json={'a' * 300}", "File name too long; choose a shorter name"),
    ],
)
def test_the_file_of_the_numbers_never_costs_other_data(
    options: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("link.csv").symlink_to("test.csv")
    Path("mine.txt").write_text("mine")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    with pytest.raises(SystemExit):
        main(["evaluate", "test.csv", "--label=y", "--score=good", *options.split()])
    said = capsys.readouterr()
    assert sentence in said.err
    assert "samples" not in said.out or "too long" in sentence, "it must be said before anything is computed"
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
    if "exists" in sentence:
        main(["evaluate", "test.csv", "--label=y", "--score=good", "--overwrite", *options.split()])
        assert "good" in json.loads(Path("mine.txt").read_text())["scores"]


def test_neither_lightning_nor_torchmetrics_is_imported(tmp_path: Path) -> None:
    shutil.copy("test.csv", tmp_path / "here.csv")
    code = (
        "from pauc_lightning.cli import main\nimport sys\n"
        "main(['evaluate', 'here.csv', '--label=y', '--score=good', '--against=bad'])\n"
        "print('loaded:', *({'lightning', 'torchmetrics', 'matplotlib', 'torchvision'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_a_mistake_in_the_other_model_or_in_a_score_is_named(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("label,score,other\n0,0.1,0.2\n1,0.7,inf\n")
    with pytest.raises(InputError, match=r"no column 'more.csv'.*give one with --against"):
        read_scored_table("FILE", file, "label", ["score", "more.csv"])
    with pytest.raises(InputError, match=r"column 'other' of .* infinite in 1 of 2 rows, first in row 1"):
        read_scored_table("FILE", file, "label", ["score", "other"])
