"""What a comparison says of files that are damaged, deleted or those of another comparison."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pauc_lightning.cli import main
from pauc_lightning.experiments import comparison

COMMON = (
    "compare",
    "-c",
    "gaussian",
    "--methods",
    "ce",
    "upauci",
    "--seeds",
    "0",
    "--trainer.accelerator=cpu",
)
LENGTHS = ("--warmup_epochs=1", "--epochs=1")
RUN = Path("out/ce-opauc_fpr0.3-seed0/version_0")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "out"
    main([*COMMON, *LENGTHS, "--train_part", "--out", str(folder)])
    return folder


@pytest.fixture(autouse=True)
def _copied(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparison, "n_cores", lambda: 1)
    shutil.copytree(finished, "out")


def compare(*arguments: str) -> None:
    main([*COMMON, *LENGTHS, "--out", "out", *arguments])


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        compare(*arguments)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fit.json", '{"collapses": [], "steps": 3, "epochs": 2e400}'),
        ("fit.json", '{"collapses": [], "steps": 3, "epochs": 1, "train_size": "many"}'),
        ("fit.json", "["),
        ("test_metrics.json", '{"pauc": "high"}'),
        ("test_metrics.json", "{}"),
        ("test_metrics.json", "[]"),
        ("test_metrics.json", "junk"),
        ("test_scores.npz", "junk\n"),
    ],
)
def test_a_damaged_file_of_a_run_is_named_and_the_advice_repairs_it(
    name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(RUN, name).write_text(text)
    assert f"{RUN}/{name} is damaged: delete {RUN}, and its run is repeated." in refused(capsys)
    if text == "junk\n":
        shutil.rmtree(RUN)
        compare()
        assert Path(RUN, name).is_file()
        assert "One seed: in brackets" in Path("out/table.md").read_text()


@pytest.mark.parametrize("text", ["[", "[1]", '{"pauc": "high"}', '{"pauc": null}'])
def test_damaged_values_of_the_training_part_are_computed_again(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = RUN / "train_metrics.json"
    before = json.loads(path.read_text())
    path.write_text(text)
    said = refused(capsys, "--train_part")
    assert f"{path} is damaged: delete it, and its values are computed again." in said
    if text == "[":
        path.unlink()
        compare("--train_part")
        assert json.loads(path.read_text()) == pytest.approx(before)


def test_a_damaged_note_of_a_warm_up_gets_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out/warmup-seed0/finished.json").write_text("{}")
    assert "out/warmup-seed0/finished.json is damaged (it names no checkpoint)" in refused(capsys)


def test_a_table_says_why_its_only_seed_has_no_interval(capsys: pytest.CaptureFixture[str]) -> None:
    compare()
    assert "no interval" not in Path("out/table.md").read_text()
    Path(RUN, "test_scores.npz").unlink()
    capsys.readouterr()
    compare()
    sentence = (
        f"Gains have no interval where a run has no test_scores.npz. Delete {RUN}, and the same command "
    )
    assert sentence in capsys.readouterr().out
    assert sentence in Path("out/table.md").read_text()
    main([*COMMON, "--methods", "ce", *LENGTHS, "--out", "out"])  # no gains, no intervals
    assert "no interval" not in Path("out/table.md").read_text()


def test_finished_runs_without_their_note(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out/comparison.json").unlink()
    said = refused(capsys)
    assert "`--out out` holds finished runs, but no comparison.json, which says with which settings" in said
    assert "another version" not in said


def test_a_folder_around_another_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").rename("compare")
    Path("out").mkdir()
    Path("compare").rename("out/compare")
    said = refused(capsys)
    assert "`--out out` holds other comparisons: out/compare. Continue one with --out out/compare" in said
    compare("--out", "out/compare")
    # A run that belongs to none of them.
    shutil.copytree("out/compare" / RUN.relative_to("out"), RUN)
    assert "no comparison.json, which says" in refused(capsys)
