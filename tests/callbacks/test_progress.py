"""The progress of a run: one live line on a terminal, a few plain lines in a pipe, nothing left behind."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pauc_lightning.callbacks import progress
from pauc_lightning.cli import main

FIT = "fit -c digits -c upauci --trainer.max_epochs=3 --trainer.accelerator=cpu --model.warmup_epochs=1"


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])


def test_a_pipe_gets_whole_lines_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(FIT.split())
    said = capsys.readouterr()
    assert "Epoch" not in said.err  # over before the first line is due
    assert said.out.startswith(
        "Training UPAUCI for OPAUC (FPR ≤ 0.3) on DigitsLT: MLPScorer, 16,641 parameters\n"
    )
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.0)
    main([*FIT.split(), "--trainer.max_epochs=4"])
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Epoch")]
    assert [line.partition(",")[0] for line in lines] == [
        "Epoch 1/4 (warm-up)",
        *(f"Epoch {epoch}/4 (UPAUCI)" for epoch in (2, 3, 4)),
    ]
    assert all(
        re.search(r"train/loss -?\d.\d{4}, val/pauc 0.\d{4}, about \d+ s left$", line) for line in lines
    )


def test_a_terminal_gets_one_line_that_disappears(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(progress, "_REFRESH_SECONDS", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    main([*FIT.split(), "--test_best=true"])
    raw = capsys.readouterr().err
    shown = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", raw)
    assert re.search(r"Epoch 3/3 \(UPAUCI\), validating", shown)
    assert "Testing" in shown
    last = shown.rindex("Epoch 3/3 (UPAUCI)")
    assert "100%" in shown[last:]
    assert raw.rstrip().endswith("\x1b[2K") or "\x1b[?25h" in raw  # erased, and the cursor is back
    with pytest.raises(SystemExit):
        main([*FIT.split(), "--model.descent_lr=1e30", "--model.gradient_clip_norm=null"])
    assert "\x1b[?25h" in capsys.readouterr().err


def test_it_can_be_switched_off_or_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    main([*FIT.split(), "--trainer.max_epochs=2", "--trainer.callbacks=TQDMProgressBar"])
    main([*FIT.split(), "--trainer.max_epochs=2", "--trainer.enable_progress_bar=false"])
    assert capsys.readouterr().out.count("Next:  pauc test") == 2
