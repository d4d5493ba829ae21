"""Runs that are not whole: what is missing is named, with the command that makes it; damage is a sentence."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from report.reading import Element, parse

from pauc_lightning.cli import main
from pauc_lightning.errors import InputError
from pauc_lightning.report import write_report
from pauc_lightning.report.run_subject import run_subject


def report(*models: Path, **options: object) -> Element:
    return parse(write_report(list(models), overwrite=True, **options).read_text())  # type: ignore[arg-type]


def test_a_run_that_was_not_tested_is_shown_on_validation(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runs / "upauci" / "version_0"
    shutil.rmtree(run / "test")
    page = report(run)
    assert "validation part" in page.one("dl", "cards").text
    note = page.one("main").all("p", "note")[0].text
    assert note.endswith(f"The test part is evaluated by pauc test {run}.")
    assert "chosen on these very samples" in page.one("section", id="operating").text
    main(["report", str(run), "--output=other.html"])
    said = capsys.readouterr().out
    assert f"Next:  pauc test {run}" in said


def test_a_run_of_an_earlier_version_says_what_makes_its_scores(runs: Path) -> None:
    run = runs / "ce" / "version_0"
    shutil.rmtree(run / "test")
    shutil.rmtree(run / "checkpoints")
    for name in ("validation_scores.npz", "operating_points.json", "calibration.json", "versions.json"):
        (run / name).unlink(missing_ok=True)
    page = report(run)
    note = page.one("main").all("p", "note")[0].text
    assert f"pauc test {run}" in note
    assert page.all("dl") == []
    assert "has not recorded the versions" in page.text
    assert page.one("section", id="training").all("svg")  # the rest is there


def test_the_curves_may_be_missing_or_damaged(runs: Path) -> None:
    run = runs / "ce" / "version_0"
    for content in ("epoch,step,val/pauc\n0,x,0.5\n", "a,b\n1,2\n", "\x00\xff", ""):
        (run / "metrics.csv").write_text(content, encoding="latin-1")
        assert report(run).one("section", id="training").one("p", "note").text
    (run / "metrics.csv").unlink()
    assert "no metrics.csv" in report(run).one("section", id="training").text


def test_a_test_of_another_checkpoint_is_called_that(runs: Path) -> None:
    run = runs / "ce" / "version_0"
    main(["test", str(run), "--ckpt_path=last", "--trainer.enable_progress_bar=false"])
    page = report(run)
    assert "evaluated the checkpoint last" in page.one("main").all("p", "note")[0].text
    assert "those of the best one" in page.one("section", id="operating").text


@pytest.mark.parametrize(
    "name", ["test_scores.npz", "config.yaml", "operating_points.json", "calibration.json"]
)
def test_a_damaged_file_is_named(runs: Path, name: str) -> None:
    run = runs / "upauci" / "version_0"
    for path in [run / name, *run.glob(f"test/*/{name}")]:
        path.write_bytes(b"{\x00 damaged: [")
    if name.endswith(".json"):  # the rest of the page stands, and the section says it
        section = {"operating_points.json": "operating", "calibration.json": "calibration"}[name]
        assert name in report(run).one("section", id=section).one("p", "note").text
    else:
        with pytest.raises(InputError, match=re.escape(name)):
            write_report(run)
        assert not Path("report.html").exists()


def test_a_config_without_a_method_or_a_region_is_refused(runs: Path) -> None:
    config = runs / "ce" / "version_0" / "config.yaml"
    text = config.read_text()
    config.write_text(text.replace("class_path: pauc_lightning.methods.CE", "class: CE"))
    with pytest.raises(InputError, match=r"no `model.class_path`"):
        run_subject(config.parent)
    config.write_text(text.replace("    max_fpr: 0.2\n", ""))
    with pytest.raises(InputError, match="names no region"):
        run_subject(config.parent)


def test_a_moved_run_and_another_region(runs: Path) -> None:
    shutil.move(runs / "ce" / "version_0", "elsewhere")
    main(["report", "elsewhere", "--max_fpr=0.5", "--min_tpr=0.5", "--title=My title"])
    page = parse(Path("report.html").read_text())
    assert page.one("h1").text == "My title"
    assert "FPR ≤ 0.5, TPR ≥ 0.5" in page.one("p", "lead").text


def test_runs_of_one_method_are_told_apart_by_their_paths(runs: Path) -> None:
    shutil.copytree(runs / "ce" / "version_0", runs / "ce" / "version_1")
    shutil.copytree(runs / "ce" / "version_0", runs / "ce2" / "version_0")
    found = report(runs / "ce/version_0", runs / "ce/version_1")
    assert [row[0] for row in found.one("section", id="comparison").one("table").rows()[1:]] == [
        "CE version_0",
        "CE version_1",
    ]
    found = report(runs / "ce/version_0", runs / "ce2/version_0")
    names = [row[0] for row in found.one("section", id="comparison").one("table").rows()[1:]]
    assert names == ["CE ce/version_0", "CE ce2/version_0"]
    found = report(runs / "ce/version_0", runs / "ce2/version_0", names=["a", "b"])
    assert found.one("h1").text == "a and b compared"
    with pytest.raises(InputError, match="a name of its own"):
        report(runs / "ce/version_0", runs / "ce/version_0")
    with pytest.raises(InputError, match="2 models need as many names"):
        report(runs / "ce/version_0", runs / "ce2/version_0", names=["a"])


def test_a_run_that_is_continued_with_other_versions_records_both(runs: Path) -> None:
    run = runs / "ce" / "version_0"
    (first,) = json.loads((run / "versions.json").read_text())
    (run / "versions.json").write_text(json.dumps([{**first, "torch": "0.4"}]))
    options = ("--trainer.max_epochs=5", "--trainer.enable_progress_bar=false", "--figures.every_n_epochs=0")
    main(["resume", str(run), *options])
    recorded = json.loads((run / "versions.json").read_text())
    assert [one["torch"] for one in recorded] == ["0.4", first["torch"]]
    assert "Earlier parts of the run used others" in report(run).one("section", id="repeat").text
    main(["resume", str(run), "--trainer.max_epochs=6", *options[1:]])
    assert len(json.loads((run / "versions.json").read_text())) == 2
