"""The table of a comparison in W&B, read back from what it would upload."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from wandb_file import offline_runs

from pauc_lightning.cli import main
from pauc_lightning.experiments.wandb_table import ComparisonInWandb, read_rows

CSV = """quantity,method,max_fpr,min_tpr,mean,gain,failed_seeds
test_pauc,ce,0.3,0.0,0.5,,
test_pauc,upauci,0.3,0.0,0.75,0.25,2
test_pauc,mb,0.3,0.0,,,0 1 2
"""


def test_the_table_is_an_artifact_of_the_group_with_a_version_for_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_SILENT", "true")
    table, figure = tmp_path / "table.csv", tmp_path / "roc.png"
    table.write_text(CSV)
    Image.new("RGB", (4, 3), "red").save(figure)
    board = ComparisonInWandb("ours", "digits: three methods", offline=True)
    for _ in range(2):
        board.log_table(tmp_path, read_rows(table), [table, figure])
    first, second = offline_runs(tmp_path / "wandb_table/wandb")
    assert first.id == second.id
    for part in (first, second):
        assert (part.project, part.group, part.job_type) == ("ours", board.group, "table")
        assert ("comparison", "digits-three-methods-table", {"table.csv", "roc.png"}) in part.artifacts
        assert part.summary["test_pauc/upauci_fpr0.3_tpr0.0"] == 0.75
        assert "test_pauc/mb_fpr0.3_tpr0.0" not in part.summary
        assert part.exit_code == 0
        (row,) = part.history
        shown = json.loads((part.folder / "files" / row["table"]["path"]).read_text())
        assert shown["columns"] == CSV.splitlines()[0].split(",")
        assert shown["data"][0] == ["test_pauc", "ce", 0.3, 0.0, 0.5, None, None]
        assert shown["data"][2] == ["test_pauc", "mb", 0.3, 0.0, None, None, "0 1 2"]
        image = part.folder / "files" / row["figures/roc"]["path"]
        assert image.read_bytes() == figure.read_bytes()
    assert [part.history[0]["_step"] for part in (first, second)] == [0, 1]


def test_where_it_goes_is_what_the_cells_were_told(tmp_path: Path) -> None:
    out = tmp_path / "runs/mine"
    settings = {"wandb": "offline", "wandb_project": "ours", "wandb_group": None}
    board = ComparisonInWandb.of(settings, out)
    assert board == ComparisonInWandb("ours", "runs-mine", offline=True)
    assert ComparisonInWandb.of({**settings, "wandb_group": "theirs"}, out) == ComparisonInWandb(
        "ours", "theirs", True
    )
    assert ComparisonInWandb.of({**settings, "wandb": "off"}, out) is None


def test_the_options_of_a_cell_are_options_of_fit(capsys: pytest.CaptureFixture[str]) -> None:
    options = ComparisonInWandb("ours", "mine", offline=True).fit_options("warm-up")
    with pytest.raises(SystemExit) as stopped:
        main(["fit", "-c", "digits", "-c", "ce", *options, "--print_config"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    assert "wandb_group: mine\n" in said
    assert "wandb_job_type: warm-up\n" in said


def test_a_comparison_sends_its_cells_as_a_group_and_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_SILENT", "true")
    command = [
        "compare",
        "-c",
        "digits",
        "--methods",
        "ce",
        "--seeds",
        "0",
        "--warmup_epochs",
        "1",
        "--epochs",
        "1",
    ]
    main([*command, "--out", "mine", "--wandb=offline"])
    folders = ("mine/warmup-seed0/version_0", "mine/ce-opauc_fpr0.3-seed0/version_0", "mine/wandb_table")
    runs = [offline_runs(tmp_path / folder / "wandb")[0] for folder in folders]
    assert [run.job_type for run in runs] == ["warm-up", "ce", "table"]
    assert len({run.group for run in runs}) == 1
    ((kind, _, files),) = [found for found in runs[2].artifacts if found[0] == "comparison"]
    assert kind == "comparison"
    assert {"table.md", "table.csv", "roc.png"} <= files
    main([*command, "--out", "mine"])  # without W&B it is the same comparison
