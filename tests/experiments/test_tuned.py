"""``pauc compare --tuned`` never mixes search spaces: real searches on the digits with a linear scorer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pauc_lightning.cli import main
from pauc_lightning.errors import InputError
from pauc_lightning.tuning.directory import TuningDirectory
from pauc_lightning.tuning.space import Space, read_space

FILE = Path("configs/method/ce.search.yaml")
SMALL_STEPS = "model.learning_rate: {log: [0.0001, 0.0002]}\n"
LARGE_STEPS = "model.learning_rate: {log: [0.1, 1]}\n"


@pytest.fixture(autouse=True)
def _with_a_search_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])
    FILE.parent.mkdir(parents=True)
    FILE.write_text(SMALL_STEPS)


def compare(*arguments: str, seeds: str = "0") -> None:
    main(
        [
            *("compare", "-c", "digits", "--model.backbone=LinearScorer", "--data.imbalance_ratio=0.05"),
            *("--tuned", "2", "--warmup_epochs", "1", "--epochs", "1", "--out", "x", "--methods", "ce"),
            *("--trainer.accelerator=cpu", "--seeds", *seeds.split(), *arguments),
        ]
    )


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, seeds: str = "0") -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        compare(*arguments, seeds=seeds)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def test_nothing_is_added_once_a_search_file_has_changed(capsys: pytest.CaptureFixture[str]) -> None:
    compare()
    table = Path("x/table.md").read_text()
    FILE.write_text(LARGE_STEPS)
    for seeds, added in (("0 1", ()), ("1", ()), ("0", ("--regions", "0.3", "0.5"))):
        said = refused(capsys, *added, seeds=seeds)
        assert "holds trials of ce with another search space" in said
        assert "tuning-opauc_fpr0.3-seed0" in said
    assert sorted(path.name for path in Path("x").glob("*seed[1-9]*")) == []
    assert not list(Path("x").glob("*fpr0.5*"))
    compare()  # complete: nothing would be searched
    assert Path("x/table.md").read_text() == table
    FILE.write_text(f"# The same, with a comment.\n{SMALL_STEPS}")
    compare(seeds="0 1")
    assert "over 2 seeds" in Path("x/table.md").read_text()


def test_data_sets_are_not_added_either(capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.yaml").write_text("compare: {data: {a: {config: digits}, b: {config: digits}}}\n")
    given = ("-c", "two.yaml")
    compare(*given, "--data_sets", "a")
    FILE.write_text(LARGE_STEPS)
    said = refused(capsys, *given, "--data_sets", "b")
    assert str(Path("x/a/tuning-opauc_fpr0.3-seed0")) in said
    FILE.write_text(f"{SMALL_STEPS}first: [{{model.learning_rate: 0.0001}}]\n")
    assert "holds trials of ce with another first values" in refused(capsys, *given, "--data_sets", "b")


def test_a_file_that_changes_during_a_comparison_stops_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is read anew for every search; the second one would have been in the new space."""
    keep = TuningDirectory.keep

    def and_edit(*arguments: object) -> None:
        keep(*arguments)  # type: ignore[arg-type]
        FILE.write_text(LARGE_STEPS)

    monkeypatch.setattr(TuningDirectory, "keep", and_edit)
    assert "holds trials of ce with another search space" in refused(capsys, seeds="0 1")
    assert not Path("x/tuning-opauc_fpr0.3-seed1").exists()


def test_what_other_data_do_not_have_is_no_difference(tmp_path: Path) -> None:
    def space(text: str) -> Space:
        (tmp_path / "m.search.yaml").write_text(text)
        return read_space(tmp_path / "m.search.yaml")

    compare()  # whose search of ce varied its learning rate only
    directory = TuningDirectory(Path("x/tuning-opauc_fpr0.3-seed0"))
    fraction = "data.positive_fraction: {choice: [null, 0.5]"
    directory.check_space("ce", space(SMALL_STEPS))
    directory.check_space("ce", space(f"{SMALL_STEPS}{fraction}, first: [0.5], optional: true}}\n"))
    directory.check_space("new", space(LARGE_STEPS))
    with pytest.raises(InputError, match="another search space"):
        directory.check_space("ce", space(f"{SMALL_STEPS}{fraction}}}\n"))


def test_who_was_tuned_and_still_improves_is_not_advised_to_be_tuned() -> None:
    FILE.write_text("model.learning_rate: {log: [0.009, 0.011]}\n")
    compare("--epochs", "5")
    text = Path("x/table.md").read_text()
    assert "Still improving when their epochs ended: ce" in text
    assert "Trained longer (--epochs) or with more trials, they may change places." in text
