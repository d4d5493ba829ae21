"""``pauc compare`` as users call it, in process."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
import torch

from pauc_lightning.cli import main
from pauc_lightning.data import DigitsLT
from pauc_lightning.methods import CE
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.models import MLPScorer

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "configs/data/digits.yaml"
SMALL = ("--trainer.accelerator=cpu", "--trainer.log_every_n_steps=2")


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])


def run(*arguments: object) -> None:
    main([str(argument) for argument in arguments])


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        run(*arguments)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def test_comparison_shares_the_warm_up_and_goes_on_where_it_was(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)  # the command looks for configs/method
    out = tmp_path / "compare"
    common = ("compare", "-c", DIGITS, "--regions", "0.3", "--warmup_epochs=1", "--epochs=2", f"--out={out}")
    run(*common, "--methods", "ce", "--seeds", 0, *SMALL)
    warm = torch.load(out / "warmup-seed0/version_0/checkpoints/last.ckpt", weights_only=True)
    assert warm["epoch"] == 0
    capsys.readouterr()
    run(*common, "--methods", "ce", "upauci", "--seeds", 0, 1, *SMALL)
    said = capsys.readouterr().out
    assert "[1/4]" not in said  # done before
    assert len(list(out.glob("warmup-seed*/version_*"))) == 2
    values = {
        (method, seed): json.loads(
            next(out.glob(f"{method}-opauc_fpr0.3-seed{seed}/version_0/test_metrics.json")).read_text()
        )["opauc_fpr0.3"]
        for method in ("ce", "upauci")
        for seed in (0, 1)
    }
    mean = (values["upauci", 0] + values["upauci", 1]) / 2
    gain = mean - (values["ce", 0] + values["ce", 1]) / 2
    assert re.search(rf"\| upauci \| {mean:.4f} ± \d\.\d{{4}} \| {re.escape(f'{gain:+.4f}')} ± ", said)


def test_comparison_on_the_training_part(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Against the scores of the checkpoint, computed here, and all pairs of the region."""
    monkeypatch.chdir(ROOT)
    out = tmp_path / "compare"
    common = (
        "compare",
        "-c",
        DIGITS,
        "--regions",
        "0.3,0.5",
        "--warmup_epochs=1",
        "--epochs=2",
        f"--out={out}",
    )
    methods = ("--methods", "ce", "upauci", "--seeds", 0, *SMALL)
    run(*common, *methods, "--train_part", "--baseline", "upauci")
    said = capsys.readouterr().out
    folder = out / "upauci-tpauc_fpr0.3_tpr0.5-seed0/version_0"
    data = DigitsLT()
    module = CE(backbone=MLPScorer(), input_shape=data.input_shape).eval()
    module.load_backbone(str(folder / "checkpoints/best.ckpt"))
    part = data.dataset("train").__getitems__(range(data.train_size))
    with torch.no_grad():
        scores, labels = module(data.eval_transform(part.input)).double().sigmoid(), part.target
    pauc = float(binary_partial_auc(scores, labels, 0.3, 0.5))
    positives, negatives = scores[labels == 1].sort()[0], scores[labels == 0].sort(descending=True)[0]
    pairs = positives[: len(positives) // 2, None] - negatives[None, : int(len(negatives) * 0.3)]
    risk = float(((1 - pairs) ** 2).mean())
    values = re.findall(r"^\| upauci \| ([\d.]+) ± nan \| - \|$", said, flags=re.MULTILINE)
    assert [float(value) for value in values[1:]] == [
        pytest.approx(pauc, abs=1e-4),
        pytest.approx(risk, abs=2e-3),  # 0.3 of the negatives is not a whole number
    ]
    assert said.count("gain over upauci") == 3

    run(*common, *methods, "--train_part")
    assert "predictions" not in capsys.readouterr().out  # looked at before
    assert "is not among --methods" in refused(capsys, *common, *methods, "--baseline", "sopa")


def test_comparison_refuses_a_directory_of_another(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    common = ("compare", "-c", DIGITS, "--methods", "ce", "--seeds", 0, "--warmup_epochs=1", "--epochs=1")
    out = f"--out={tmp_path / 'compare'}"
    run(*common, out, *SMALL)
    said = refused(capsys, *common, out, *SMALL, "--data.positive_classes=[0]")
    assert "Give another --out" in said


def test_comparison_refuses_a_directory_made_with_another_yaml(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    monkeypatch.chdir(tmp_path)
    common = ("compare", "-c", "configs/data/digits.yaml", "--seeds", 0, "--warmup_epochs=1", "--epochs=1")
    both = (*common, "--methods", "ce", "upauci", *SMALL)
    upauci, note = Path("configs/method/upauci.yaml"), Path("runs/compare/comparison.json")
    shipped = upauci.read_text()
    upauci.write_text(shipped.replace("omega: 0.5", "omgea: 0.4"))
    assert "Did you mean `omega`?" in refused(capsys, *both)
    upauci.write_text(shipped.replace("omega: 0.5", "omega: 0.4"))
    run(*both)  # nothing had been finished with the typo
    assert "omega: 0.4" in json.loads(note.read_text())["files"][str(upauci)]
    upauci.write_text(shipped)
    assert f"another content of {upauci}" in refused(capsys, *both)
    run(*common, "--methods", "ce", *SMALL)
    without = {key: value for key, value in json.loads(note.read_text()).items() if key != "files"}
    note.write_text(json.dumps(without))  # as earlier versions wrote it
    assert "one that was not noted" in refused(capsys, *both)


def test_comparison_names_unknown_methods_and_regions(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert "Known: " in refused(capsys, "compare", "--methods", "ec")
    assert "write max_fpr" in refused(capsys, "compare", "--regions", "low")
