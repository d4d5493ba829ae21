"""The comparison that the kill chains end in sees a single bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from pauc_lightning.benchmarks.resume import SETTINGS, Chain, compare_runs, differences, main, report
from pauc_lightning.checkpoint_io import write_checkpoint
from pauc_lightning.errors import InputError


def make_run(
    folder: Path, last: float = 1.0, best: float = 1.0, momentum: float = 0.5, step: int = 7
) -> Path:
    for name, value in (("last", last), ("best", best)):
        content = {
            "state_dict": {"weight": torch.tensor([0.25, value])},
            "optimizer_states": [{"state": {0: {"momentum": torch.tensor(momentum)}}}],
            "global_step": step,
            "callbacks": {"path": str(folder)},  # may differ
        }
        write_checkpoint(content, folder / f"checkpoints/{name}.ckpt")
    return folder


def test_identical_runs(tmp_path: Path) -> None:
    assert compare_runs(make_run(tmp_path / "a"), make_run(tmp_path / "b")) == []


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"last": 1.0000001}, "last/state_dict/weight"),
        ({"best": 1.0000001}, "best/state_dict/weight"),
        ({"momentum": 0.50000006}, "last/optimizer_states/0/state/0/momentum"),
        ({"step": 8}, "last/global_step"),
    ],
)
def test_a_single_bit_is_seen(tmp_path: Path, change: dict[str, Any], place: str) -> None:
    assert compare_runs(make_run(tmp_path / "a"), make_run(tmp_path / "b", **change)) == [place]


def test_values_that_compare_strangely() -> None:
    assert differences(torch.tensor(torch.nan), torch.tensor(torch.nan)) == []
    assert differences(torch.tensor(0.0), torch.tensor(-0.0)) == ["value"]
    assert differences(torch.tensor(1.0), torch.tensor(1.0, dtype=torch.float64)) == ["value"]
    assert differences({"a": 1}, {"b": 1}) == ["/a missing", "/b missing"]
    assert differences([1, 2], [1]) == [": 2 and 1 entries"]
    assert differences(1, 1.0) == ["value"]


def test_a_missing_checkpoint_is_a_difference(tmp_path: Path) -> None:
    run = make_run(tmp_path / "b")
    (run / "checkpoints/best.ckpt").unlink()
    (line,) = compare_runs(make_run(tmp_path / "a"), run)
    assert "no such file" in line


def test_the_table_says_which_chain_differs() -> None:
    lines = report([Chain(0, "CE", ["KILL", "TERM"]), Chain(1, "SOPA", [], ["last/a"])]).splitlines()
    assert lines[1].split() == ["0", "CE", "KILL", "TERM", "yes"]
    assert lines[2].split() == ["1", "SOPA", "-", "NO:", "last/a"]
    assert lines[-1] == "1 of 2 chains end bit-identical to the undisturbed run, after 2 kills."


def test_twenty_chains_reach_every_setting() -> None:
    assert len(SETTINGS) <= 20
    with pytest.raises(InputError, match="--chains=0"):
        main(["--chains=0"])
