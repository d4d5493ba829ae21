"""The example table, and what is said about mistakes in tables like it."""

from __future__ import annotations

import csv
import logging
from pathlib import Path

import pytest

from pauc_lightning.cli import main
from pauc_lightning.data import TabularLT
from pauc_lightning.data.example_claims import example_claims, write_example_claims
from pauc_lightning.errors import InputError
from pauc_lightning.run_directory import RunDirectory


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_files_are_always_the_same_and_not_replaced(tmp_path: Path) -> None:
    claims, new = write_example_claims(tmp_path / "a")
    again = write_example_claims(tmp_path / "b")
    assert [path.read_bytes() for path in (claims, new)] == [path.read_bytes() for path in again]
    known, unknown = rows(claims), rows(new)
    assert (len(known), len(unknown)) == (20_000, 2_000)
    assert 0.045 < sum(row["outcome"] == "fraud" for row in known) / len(known) < 0.055
    assert "outcome" not in unknown[0]
    assert {row["channel"] for row in unknown} - {row["channel"] for row in known} == {"chat"}
    assert all(any(row[name] == "" for row in known) for name in ("garage", "km_per_year"))
    with pytest.raises(InputError, match=r"claims\.csv exists and is not replaced"):
        write_example_claims(tmp_path / "a")


def test_the_command_says_what_to_type_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["example", str(tmp_path)])
    assert capsys.readouterr().out.splitlines()[-1].startswith("Next:  pauc data -c tabular --data.path ")


def labelled(tmp_path: Path, spelling: str, count: int) -> TabularLT:
    """A table of 400 claims in which some honest ones have another label."""
    table = example_claims(400, seed=3)
    honest = [i for i, value in enumerate(table["outcome"]) if value == "honest"][:count]
    lines = [
        f"{amount},{spelling if i in honest else outcome}"
        for i, (amount, outcome) in enumerate(zip(table["amount"], table["outcome"], strict=True))
    ]
    path = tmp_path / "claims.csv"
    path.write_text("\n".join(["amount,outcome", *lines]) + "\n")
    return TabularLT(path=str(path), label="outcome", positive_values=["fraud"])


@pytest.mark.parametrize(
    ("spelling", "count", "is_named"),
    [("Fraud", 200, True), ("fruad", 1, True), ("fruad", 200, False), ("car", 1, False)],
)
def test_labels_spelled_nearly_alike_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, spelling: str, count: int, is_named: bool
) -> None:
    with caplog.at_level(logging.INFO):
        _ = labelled(tmp_path, spelling, count).source
    assert (f"{spelling!r} in {count} (like 'fraud'): they count as negative" in caplog.text) == is_named


def test_inputs_are_listed(tmp_path: Path) -> None:
    assert labelled(tmp_path, "honest", 1).notes()[0] == "Inputs: 1, from the numbers amount."


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["data", "claims.csv"], "write pauc data -c tabular --data.path claims.csv --data.label <column>"),
        (["data", "-c", "tabular", "claims.csv"], "write --data.path claims.csv"),
        (["fit", "-c", "digits", "-c", "ce", "--model.backbone", "Linear"], "Did you mean `LinearScorer`?"),
        (
            ["data", "-c", "tabular", "--data.path=claims.csv", "--data.label=Outcome"],
            "Did you mean `outcome`?",
        ),
    ],
)
def test_the_remedy_is_named(
    command: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    labelled(tmp_path, "honest", 1)
    with pytest.raises(SystemExit, match="2"):
        main(command)
    assert sentence in capsys.readouterr().err


def test_a_run_that_does_not_exist_names_those_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "runs" / "TabularLT-CE" / "version_0"
    run.mkdir(parents=True)
    (run / "config.yaml").write_text("model: CE\n")
    for typed in ("runs/TabularLT-CE/version_1", "runs/TabularLT-ce/version_0"):
        with pytest.raises(InputError, match=r"no such run\. There are runs/TabularLT-CE/version_0\."):
            RunDirectory.open(typed)
