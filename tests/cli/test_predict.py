"""``pauc predict RUN --input``: a run scores new data as it scored its own, wherever it lies and whatever is gone."""

from __future__ import annotations

import json
import logging
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from PIL import Image

from pauc_lightning.cli import main
from pauc_lightning.decisions import operating_point_of_run

CONFIGS = Path(__file__).parents[2] / "configs"
N = 600


def patients() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    died = rng.random(N) < 0.3
    return pd.DataFrame(
        {
            "patient": [f"{i:05d}" for i in rng.permutation(N)],
            "age": rng.normal(50, 9, N) + 8 * died,
            "city": rng.choice(["Rome", "Oslo", "Bonn"], N),
            "ward": rng.integers(1, 4, N),
            "code": rng.choice(["01", "02", "none"], N),
            "outcome": np.where(died, "yes", "no"),
        }
    )


def fit(folder: Path, *options: str) -> Path:
    """Train for a moment, and return the run, moved to another place."""
    main(
        [
            "fit",
            *options,
            f"--run_dir={folder / 'runs'}",
            "--trainer.max_epochs=1",
            "--trainer.accelerator=cpu",
            "--trainer.enable_progress_bar=false",
        ]
    )
    (run,) = (folder / "runs").glob("*/version_0")
    return Path(shutil.move(run, folder / "moved"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a table; its own predictions are in test.csv, and the training file is no longer there."""
    folder = tmp_path_factory.mktemp("table")
    patients().to_csv(folder / "patients.csv", index=False)
    moved = fit(
        folder,
        f"-c={CONFIGS / 'data/tabular.yaml'}",
        f"-c={CONFIGS / 'method/ce.yaml'}",
        f"--data.init_args.path={folder / 'patients.csv'}",
        "--data.init_args.label=outcome",
        "--data.init_args.positive_values=[yes]",
        "--data.init_args.id_column=patient",
        "--data.init_args.categorical=[ward]",
        "--data.init_args.eval_batch_size=32",
    )
    predict(moved, output=folder / "test.csv")
    (folder / "patients.csv").unlink()
    return moved


def predict(run: Path, *options: str, **named: Any) -> None:
    arguments = [f"--{name}={value}" for name, value in named.items()]
    main(["predict", str(run), *arguments, *options, "--trainer.enable_progress_bar=false"])


def refused(capsys: pytest.CaptureFixture[str], run: Path, *options: str, **named: Any) -> str:
    """The one sentence that a command ends with."""
    with pytest.raises(SystemExit) as exit_:
        predict(run, *options, **named)
    said = capsys.readouterr().err
    assert exit_.value.code == 2
    assert "Traceback" not in said
    return said[said.index("error: ") :]


def scores(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"patient": str})


def test_the_same_rows_get_the_same_scores_without_label_and_without_the_others(
    run: Path, tmp_path: Path
) -> None:
    of_the_part = scores(run.parent / "test.csv")
    frame = patients().iloc[of_the_part["index"]]
    assert of_the_part["patient"].tolist() == frame["patient"].tolist()
    assert of_the_part["label"].tolist() == (frame["outcome"] == "yes").astype(int).tolist()

    frame.drop(columns="outcome").to_csv(tmp_path / "new.csv", index=False)
    predict(run, input=tmp_path / "new.csv", output=tmp_path / "scores.csv")
    new = scores(tmp_path / "scores.csv")
    assert list(new.columns) == ["index", "patient", "score"]
    assert new["index"].tolist() == list(range(len(frame)))
    assert new["patient"].tolist() == of_the_part["patient"].tolist()
    assert new["score"].tolist() == of_the_part["score"].tolist()  # to the last bit

    # Half of the rows in another order, from another kind of file, among rows that nobody has seen.
    others = frame.assign(age=500.0, city="Paris")
    frame[::-2].to_csv(tmp_path / "half.csv", index=False)
    mixed = pd.concat([others, pd.read_csv(tmp_path / "half.csv", dtype={"patient": str, "code": str})])
    mixed.assign(comment="x").to_parquet(tmp_path / "mixed.parquet")
    predict(run, input=tmp_path / "mixed.parquet", output=tmp_path / "scores.parquet")
    result = pd.read_parquet(tmp_path / "scores.parquet")
    assert list(result.columns) == ["index", "patient", "label", "score"]
    tail = result.iloc[len(others) :]
    assert tail["patient"].tolist() == of_the_part["patient"].tolist()[::-2]
    assert tail["label"].tolist() == of_the_part["label"].tolist()[::-2]
    # Other neighbours in the batch may round the last digit of a float32 differently.
    np.testing.assert_allclose(tail["score"], of_the_part["score"][::-2], rtol=1e-6)


def test_scores_that_go_elsewhere_leave_the_run_as_it_was(run: Path, tmp_path: Path) -> None:
    """The run may be read-only: it used to get a folder for nothing."""
    patients()[:30].to_csv(tmp_path / "new.csv", index=False)
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    predict(run, input=tmp_path / "new.csv", output=tmp_path / "scores.csv")
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before
    assert len(scores(tmp_path / "scores.csv")) == 30
    assert not Path("config.yaml").exists()


def test_decisions_are_made_by_the_threshold_of_the_run(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    patients()[:90].drop(columns="outcome").to_csv(tmp_path / "new.csv", index=False)
    saved = json.loads((run / "operating_points.json").read_text())["points"]
    rates = [point["target_fpr"] for point in saved]
    assert rates == [0.01, 0.05, 0.3]
    assert saved[0]["guaranteed"] is None  # the validation part has about 60 negatives
    named: dict[str, Any] = {"input": tmp_path / "new.csv", "output": tmp_path / "scores.csv"}
    for rate, options, kind in (
        (0.3, (), "guaranteed"),
        (0.3, ("--threshold=empirical",), "empirical"),
        (0.01, (), "empirical"),
    ):
        predict(run, *options, "--overwrite", target_fpr=rate, **named)
        said = capsys.readouterr().out
        assert f"the {kind} threshold for FPR ≤ {rate:g}" in said
        assert ("takes at least 299 negatives" in said) == (rate == 0.01)
        table = scores(tmp_path / "scores.csv")
        assert list(table.columns) == ["index", "patient", "score", "decision"]
        threshold = saved[rates.index(rate)][kind]["threshold"]
        assert table["decision"].tolist() == (table["score"] >= threshold).astype(int).tolist()
        assert (table["decision"].mean() > 0) == (rate == 0.3)
        assert table["decision"].mean() < 1
    # A rate that the run does not list is as good.
    predict(run, "--overwrite", "--delta=0.2", target_fpr=0.1, **named)
    chosen = operating_point_of_run(run, 0.1, delta=0.2)
    table = scores(tmp_path / "scores.csv")
    assert table["decision"].sum() == (table["score"] >= chosen.point.threshold).sum()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--target_fpr=0.01", "--threshold=guaranteed"], "takes at least 299 negatives"),
        (["--target_fpr=1"], "`target_fpr` must be"),
        (["--target_fpr=some"], "`--target_fpr some`: give a number"),
        (["--target_fpr=1%"], "`--target_fpr 1%`: give a number: for 1 % write 0.01"),
        (["--target_fpr=0.1", "--ckpt_path=last"], "needs the run's best model"),
        (["--target_fpr=0.1", "--ckpt_path", "last"], "needs the run's best model"),
        (["--threshold=empirical"], "need `--target_fpr`"),
        (["--target_fpr=0.1", "--threshold=exact"], "`exact` does not exist"),
    ],
)
def test_thresholds_that_cannot_be_are_refused(
    run: Path, tmp_path: Path, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in refused(capsys, run, *options, output=tmp_path / "scores.csv")
    assert not (tmp_path / "scores.csv").exists()


def test_what_is_unusual_is_said_once(run: Path, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    frame = patients().assign(comment="x")[:40].drop(columns="patient")
    frame.loc[:2, "city"] = "Paris"
    frame["outcome"] = frame["outcome"].astype(object)
    frame.loc[0, "outcome"] = None
    frame.loc[1, "outcome"] = "perhaps"
    frame["ward"] = frame["ward"].astype(float)  # as pandas writes a column that once had a missing value
    frame.to_csv(tmp_path / "new.csv", index=False)
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    logger.addHandler(handler)
    try:
        predict(run, input=tmp_path / "new.csv", output=tmp_path / "scores.csv")
    finally:
        logger.removeHandler(handler)
    assert not [warning for warning in recwarn.list if "new.csv" in str(warning.message)]
    assert sum("city (3 rows: Paris)" in text for text in said) == 1
    assert not any("ward" in text or "code" in text for text in said if "categories" in text)
    assert (
        sum(
            "the label 'outcome' has values that did not occur in training (perhaps)" in text for text in said
        )
        == 1
    )
    result = scores(tmp_path / "scores.csv")
    assert list(result.columns) == ["index", "label", "score"]
    assert result["label"].isna().tolist() == [True, True] + [False] * 38


def test_mistakes_end_in_a_sentence_and_write_nothing(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = patients()[:40]
    old = frame.assign(age=["old", *frame["age"][1:]])
    frame.to_csv(tmp_path / "good.csv", index=False)
    (tmp_path / "mine.csv").write_text("mine")
    before = sorted(run.rglob("*"))
    for name, table, message in (
        (
            "lacking",
            frame.drop(columns=["age", "city"]),
            "lacks the columns age, city that the model was trained",
        ),
        ("text", old, "column 'age' of .* has 'old' in 1 of 40 rows, where the model was trained on numbers"),
        ("date", frame.assign(age=pd.Timestamp("2020-01-01")), "column 'age' of .* has '2020-01-01"),
        ("missing", frame.assign(age=[None, *frame["age"][1:]]), r"missing in the columns age \(1\)"),
        ("infinite", frame.assign(age=np.inf), "column 'age' .* values in 40 rows that are infinite"),
        ("empty", frame[:0], "has no rows"),
    ):
        path = tmp_path / f"{name}.csv"
        table.to_csv(path, index=False)
        said = refused(capsys, run, input=path, output=tmp_path / "scores.csv")
        assert re.search(message, said), said
    good: dict[str, Any] = {"input": tmp_path / "good.csv"}
    assert "no such file" in refused(capsys, run, input=tmp_path / "none.csv")
    assert "exists: choose another name" in refused(capsys, run, **good, output=tmp_path / "mine.csv")
    before_input = (tmp_path / "good.csv").read_bytes()
    assert "is the input" in refused(capsys, run, "--overwrite", **good, output=tmp_path / "good.csv")
    assert (tmp_path / "good.csv").read_bytes() == before_input
    assert "must end in .csv or .parquet" in refused(capsys, run, **good, output=tmp_path / "scores.txt")
    assert "`id_column=name` is not a column" in refused(capsys, run, **good, id="name")
    assert "`--input` needs a value" in refused(capsys, run, "--input")
    assert (tmp_path / "mine.csv").read_text() == "mine"
    assert not list(tmp_path.glob("scores.*"))
    assert sorted(run.rglob("*")) == before
    predict(run, "--overwrite", **good, output=tmp_path / "mine.csv", id="city")
    assert list(scores(tmp_path / "mine.csv").columns) == ["index", "city", "label", "score"]

    (run / "preprocessing.json").rename(run / "kept.json")
    assert "has no preprocessing.json" in refused(capsys, run, **good)
    (run / "kept.json").rename(run / "preprocessing.json")
    with pytest.raises(SystemExit):
        main(["predict", "--input", "new.csv"])
    assert "needs the run's directory" in capsys.readouterr().err


def test_a_training_file_that_has_changed_is_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = patients()
    frame.loc[:9, "age"] += 100
    frame.to_csv(tmp_path / "other.csv", index=False)
    said = refused(capsys, run, f"--data.init_args.path={tmp_path / 'other.csv'}")
    assert "not those that the run was trained on: columns (age) differ" in said
    assert "pauc predict <run> --input" in said


def test_folders_of_images_need_no_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(30):
            pixels = rng.integers(0, 255, (9, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "photos" / name / f"{i}.png")
    run = fit(
        tmp_path,
        f"-c={CONFIGS / 'method/ce.yaml'}",
        "--data=ImageFolderLT",
        f"--data.init_args.root={tmp_path / 'photos'}",
        "--data.init_args.positive_classes=[cat]",
        "--data.init_args.image_size=8",
        "--data.init_args.cache_dir=null",
        "--model.init_args.backbone=LinearScorer",
    )
    predict(run, output=tmp_path / "test.csv")
    of_the_part = pd.read_csv(tmp_path / "test.csv")
    new = tmp_path / "new"
    for name in of_the_part["file"]:
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tmp_path / "photos" / name, new / name)
    shutil.copy(new / of_the_part["file"][0], new / "another.png")
    (new / "notes.txt").write_text("no image")
    shutil.rmtree(tmp_path / "photos")
    predict(run, input=new, output=tmp_path / "scores.csv")
    scored = pd.read_csv(tmp_path / "scores.csv")
    assert list(scored.columns) == ["index", "file", "score"]
    assert scored["file"].tolist() == sorted([*of_the_part["file"], "another.png"])
    both = of_the_part.merge(scored, on="file")
    np.testing.assert_allclose(both["score_x"], both["score_y"], rtol=1e-6)
    assert "is not a folder" in refused(capsys, run, input=tmp_path / "scores.csv")
    (tmp_path / "empty").mkdir()
    assert "has no images" in refused(capsys, run, input=tmp_path / "empty")
