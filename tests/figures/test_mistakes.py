"""A mistake in the words of `pauc figure` ends in one sentence that names it, before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from figures.trained import run


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "needs NAME"),
        ("rock", "`rock` does not exist. Did you mean"),
        ("roc nowhere", "`nowhere`: no such run"),
        ("roc =nowhere", "write NAME=PATH"),
        ("roc .", "is not a run: it has no config.yaml"),
        ("roc . --methods ce", "`--methods` is for training, but runs are named"),
        ("roc . --model.backbone=MLPScorer", "`--model.backbone=MLPScorer` is for training"),
        ("roc --regions 0.3 0.5", "give one --region"),
        ("roc --region 3", "`--region 3`"),
        ("roc --methods nothing", "nothing"),
        ("roc --epochs none", "`--epochs none`"),
        ("convergence --tuned 3", "tune by `pauc compare --tuned N`"),
        ("convergence --seeds 0 0", "given twice"),
        ("scores -c nothing", "nothing"),
        ("sensitivity --variables delta", "no such variable"),
        ("sensitivity --variables s_pos", "the region is one-way"),
        ("sensitivity --variables c --method pauci", "stores no weights"),
        ("sensitivity --method ce", "`ce` does not exist"),
        ("sensitivity runs/x", "this figure has trainings of its own"),
        ("pull nowhere", "`nowhere`: no such run"),
        ("pull --max_fpr 30", "`max_fpr` is a rate"),
        ("quantile nowhere", "`nowhere`: no such run"),
        ("quantile --rates 30", "`max_fpr` is a rate"),
        ("quantile --kappa 3", "`--kappa` is not an option"),
    ],
)
def test_mistakes(
    words: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        run("figure", *words.split())
    assert stopped.value.code == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_cannot_be_written_is_named(
    comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit):
        run("figure", "roc", comparison, "--out", tmp_path / "file")
    assert "cannot write" in capsys.readouterr().err
