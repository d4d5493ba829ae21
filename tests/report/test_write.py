"""The file: written completely or not at all, never over another one; and scores from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from report.reading import parse

from pauc_lightning.cli import main
from pauc_lightning.decisions import choose_operating_points
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional import binary_partial_auc, operating_point, partial_auc_difference
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
        ("label,score\n1,0.5\n", "must have both classes, got no negative among 1 rows"),
        ("label,score\n1,0.5\n0,0.2\n0,0.1\n", "at least two positives for a report, got 1 among 3"),
        ("label,score\n1,0.5\n1,0.2\n0,0.1\n", "at least two negatives for a report, got 1 among 3"),
        ("lable,score\n1,0.5\n", "Did you mean `lable`?"),
        ("label,score\n1,high\n0,0.5\n", "must hold numbers"),
        ("label,score\n1,0.5\n0,\n", "has no value in 1 of 2 rows"),
        ("label,score\n1,0.5\n2,0.5\n0,0.1\n", "must be 0 or 1, got 0, 1, 2"),
        ("label,score\n1,inf\n1,0.5\n0,0.1\n0,0.2\n", "is infinite in 1 of 4 rows"),
    ],
)
def test_a_bad_file_gets_a_sentence(text: str, words: str) -> None:
    Path("bad.csv").write_text(text)
    with pytest.raises(InputError, match="bad") as refused:
        write_report("bad.csv", region=REGION)
    assert words in str(refused.value)
    assert not Path("report.html").exists()


def test_several_columns_of_scores_are_several_models() -> None:
    score, label = samples()
    worse = [
        value + noise
        for value, noise in zip(score, np.random.default_rng(1).normal(size=300) * 2, strict=True)
    ]
    rows = [f"{'yes' if y else 'no'},{s},{w}" for y, s, w in zip(label, score, worse, strict=True)]
    Path("test.csv").write_text("\n".join(["outcome,good,noisy", *rows]))
    arguments = ("--max_fpr=0.1", "--label=outcome", "--positive=yes", "--score", "good", "noisy")
    main(["report", "test.csv", *arguments])
    table = parse(Path("report.html").read_text()).one("section", id="comparison").one("table").rows()
    assert [row[0] for row in table[1:]] == ["good", "noisy"]
    difference = partial_auc_difference(worse, score, label, 0.1)
    assert table[2][2].startswith(f"{difference.value:+.3f}".replace("-", "−"))


def test_thresholds_and_calibration_from_another_file() -> None:
    score, label = samples()
    probability = (1 / (1 + np.exp(-np.array(score)))).tolist()
    for name, rows in (("validation.csv", slice(0, 150)), ("test.csv", slice(150, 300))):
        lines = [f"{y},{p}" for y, p in zip(label[rows], probability[rows], strict=True)]
        Path(name).write_text("\n".join(["label,score", *lines]))
    write_report("test.csv", region=REGION, thresholds_from="validation.csv")
    page = parse(Path("report.html").read_text())
    section = page.one("section", id="operating")
    assert "chosen on the validation part" in section.text
    chosen = choose_operating_points(probability[:150], label[:150], [0.01, 0.05, 0.1])
    row = section.one("table").rows()[-1]  # FPR <= 0.1, guaranteed
    point = operating_point(probability[150:], label[150:], chosen.points[-1].point.threshold)
    assert row[2:4] == ["guaranteed", row[3]]
    assert row[3].startswith(f"{point.fpr:.3f} [")
    assert page.one("section", id="calibration").one("table").rows()[2][0] == "Platt scaling"
    with pytest.raises(InputError, match="is the file of the report"):
        write_report("test.csv", region=REGION, thresholds_from="test.csv", overwrite=True)
    with pytest.raises(InputError, match="belongs to one file of scores, got 2"):
        write_report(["test.csv", "validation.csv"], "x.html", region=REGION, thresholds_from="test.csv")


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
        (["nothing.csv", "--max_fpr=0.1"], "nothing.csv"),
        (["folder.csv", "--max_fpr=0.1"], "folder.csv"),
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
