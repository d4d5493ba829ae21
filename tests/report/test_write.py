"""The file: written completely or not at all, never over another one; and scores from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from report.reading import parse

from pauc_lightning.cli import main
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.region import Region
from pauc_lightning.report import ScoredSamples, write_report
from pauc_lightning.report import page as page_module

REGION = Region(max_fpr=0.1)


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def samples() -> tuple[list[float], list[int]]:
    rng = np.random.default_rng(0)
    label = np.arange(300) % 5 == 0
    return (rng.normal(size=300) + 2 * label).tolist(), label.astype(int).tolist()


def write_csv(path: str, columns: str = "label,score", separator: str = ",") -> None:
    score, label = samples()
    rows = [separator.join(map(str, row)) for row in zip(label, score, strict=True)]
    Path(path).write_text("\n".join([columns.replace(",", separator), *rows]) + "\n")


def value_in(path: str) -> str:
    return parse(Path(path).read_text()).one("dl", "cards").all("dd", "value")[0].text


def test_files_and_arrays_give_the_value_of_the_metric() -> None:
    score, label = samples()
    expected = f"{float(binary_partial_auc(score, label, 0.1)):.3f}"
    write_csv("a.csv")
    write_csv("b.tsv", "outcome,p", "\t")
    Path("bom.csv").write_text("\ufeff" + Path("a.csv").read_text() + "\n\n", encoding="utf-8")
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"label": label, "score": score}), "c.parquet")
    main(["report", "a.csv", "--max_fpr=0.1", "--output=a.html"])
    main(["report", "b.tsv", "--max-fpr", "0.1", "--label=outcome", "--score=p", "--output=b.html"])
    main(["report", "bom.csv", "--max_fpr=0.1", "--output=bom.html"])
    main(["report", "c.parquet", "--max_fpr=0.1", "--output=c.html"])
    write_report(ScoredSamples("mine", score, label), "d.html", region=REGION)
    assert {value_in(name) for name in ("a.html", "b.html", "bom.html", "c.html", "d.html")} == {expected}


def test_scores_from_elsewhere_have_no_training_parts() -> None:
    write_csv("a.csv")
    write_report("a.csv", region=REGION)
    ids = [section.attributes["id"] for section in parse(Path("report.html").read_text()).all("section")]
    assert ids == ["roc", "scores", "operating", "calibration"]


def test_an_existing_file_is_replaced_only_if_asked() -> None:
    mine = ScoredSamples("mine", *samples())
    write_report(mine, region=REGION)
    Path("report.html").write_text("precious")
    with pytest.raises(InputError, match="exists: choose another name, or replace it with --overwrite"):
        write_report(mine, region=REGION)
    assert Path("report.html").read_text() == "precious"
    write_report(mine, region=REGION, overwrite=True)
    assert Path("report.html").read_text().startswith("<!doctype html>")


def test_a_report_that_fails_leaves_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("report.html").write_text("precious")

    def fail(*args: object, **kwargs: object) -> str:
        raise RuntimeError("in the middle")

    monkeypatch.setattr(page_module, "_stylesheet", fail)
    with pytest.raises(RuntimeError, match="in the middle"):
        write_report(ScoredSamples("mine", *samples()), region=REGION, overwrite=True)
    assert Path("report.html").read_text() == "precious"
    assert [path.name for path in Path().iterdir()] == ["report.html"]


def test_a_folder_that_does_not_exist_is_made() -> None:
    assert write_report(ScoredSamples("mine", *samples()), "a/b/report.html", region=REGION).is_file()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("label,score\n1,0.5\n", "too few for a report"),
        ("label,score\n", "too few for a report"),
        ("", "has no column `label`"),
        ("lable,score\n1,0.5\n", "Did you mean `lable`?"),
        ("label,score\n1,high\n0,0.5\n", "row 1 of column `score` is 'high'"),
        ("label,score\n1,0.5\n0\n", "row 2 of column `score` is ''"),
        ("label,score\n1,0.5\n2,0.5\n0,0.1\n", "0"),
        ("label,score\n1,nan\n1,0.5\n0,0.1\n0,0.2\n", "NaN"),
        ("label,score\n1,inf\n1,0.5\n0,0.1\n0,0.2\n", "infin"),
    ],
)
def test_a_bad_file_gets_a_sentence(text: str, words: str) -> None:
    Path("bad.csv").write_text(text)
    with pytest.raises(InputError, match="bad") as refused:
        write_report("bad.csv", region=REGION)
    assert words.lower() in str(refused.value).lower()
    assert not Path("report.html").exists()


def test_a_region_too_small_for_the_samples_gets_a_sentence() -> None:
    write_csv("a.csv")
    with pytest.raises(InputError, match="max_fpr"):
        write_report("a.csv", region=Region(max_fpr=0.001))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a.csv"], "no region of their own"),
        (["a.csv", "--min_tpr=0.5"], "add --max_fpr"),
        (["a.csv", "--max_fpr=2"], "`max_fpr` is a rate"),
        (["a.csv", "--max_fpr=0.1", "--confidence=95"], "`confidence` must be"),
        (["a.csv", "--max_fpr=0.1", "--output=report.pdf"], "must end in .html"),
        (["a.csv", "--max_fpr=0.1", "--output=folder.html"], "is a folder"),
        (["a.csv", "--max_fpr=0.1", "--names", "x", "y"], "1 models need as many names"),
        (["nothing.csv", "--max_fpr=0.1"], "`nothing.csv` cannot be read"),
        (["folder.csv", "--max_fpr=0.1"], "is a folder"),
        (["nothing"], "`nothing`: no such run"),
        (["folder.html"], "is not a run"),
        ([], "needs RUN|FILE"),
        (["a.csv", "--otput=x.html"], "Did you mean `--output`?"),
    ],
)
def test_a_mistake_ends_in_one_sentence(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_csv("a.csv")
    Path("folder.html").mkdir()
    Path("folder.csv").mkdir()
    with pytest.raises(SystemExit) as stopped:
        main(["report", *arguments])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.strip().splitlines()) == 1
    assert not Path("report.html").exists()


def test_the_model_list_must_not_be_empty() -> None:
    with pytest.raises(InputError, match="`models` is empty"):
        write_report([])
