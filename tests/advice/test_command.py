"""``pauc advise`` as a user types it."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from pauc_lightning.cli import main

SMALL = ["--warmup_epochs", "1", "--epochs", "1", "--minutes", "0.01", "--seeds", "0", "1", "2"]


def write_table(path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = rng.random(600) < 0.2
    columns = rng.normal(size=(600, 3)) + labels[:, None]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "label"])
        writer.writerows([*row, int(label)] for row, label in zip(columns.tolist(), labels, strict=True))


def test_advice_on_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(Path("mine.csv"))
    command = [
        *("advise", "-c", "tabular", "--data.path", "mine.csv", "--data.label", "label", "--region", "0.3"),
        *("--model.backbone", "LinearScorer", "--methods", "upauci", *SMALL),
    ]
    main(command)
    said = capsys.readouterr().out
    page = Path("runs/advise/advice.md").read_text()
    sentence = page.splitlines()[0]
    assert sentence in said
    assert re.match(r"(Train for the corner|Keep cross-entropy|Get more data)", sentence)
    assert "3 splits" in sentence
    assert Path("runs/advise/advice.png").stat().st_size > 10_000

    # The gain in the sentence is the mean of the differences of the runs' own test results.
    def values(method: str) -> list[float]:
        found = sorted(Path("runs/advise").glob(f"{method}-*/version_0/test_metrics.json"))
        return [json.loads(path.read_text())["pauc"] for path in found]

    gain = np.mean(values("upauci")) - np.mean(values("ce"))
    assert len(values("ce")) == 3
    assert f"upauci gains {gain:+.4f}" in sentence

    # Settings were searched on the validation part only, with equal budgets.
    for seed in range(3):
        folder = Path(f"runs/advise/tuning-opauc_fpr0.3-seed{seed}")
        trials = [len(list((folder / method).glob("trial*"))) for method in ("ce", "upauci")]
        assert trials[0] == trials[1] >= 1
        assert not list(folder.rglob("test_metrics.json"))

    # The next command is one that works.
    arguments = re.search(r"^Next:  pauc (.*)$", said, re.MULTILINE)
    assert arguments is not None
    main([*arguments[1].split(), "--trainer.max_epochs", "2", "--model.warmup_epochs", "1"])

    # A second call repeats nothing.
    before = {path: path.stat().st_mtime_ns for path in Path("runs/advise").rglob("*.ckpt")}
    capsys.readouterr()
    main(command)
    assert sentence in capsys.readouterr().out
    assert before == {path: path.stat().st_mtime_ns for path in Path("runs/advise").rglob("*.ckpt")}

    # A run that is missing after a kill is repeated without further trials: those already tested had no more either.
    tried = sorted(Path("runs/advise").glob("tuning-*/*/trial*"))
    shutil.rmtree("runs/advise/upauci-opauc_fpr0.3-seed0")
    main([*command, "--minutes", "1"])
    assert sentence in capsys.readouterr().out
    assert sorted(Path("runs/advise").glob("tuning-*/*/trial*")) == tried


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--seeds", "0", "1"], "`--seeds 0 1`: give at least 3"),
        (["--methods", "ce"], "name a method besides ce"),
        (["--minutes", "soon"], "`--minutes soon`: give a number above 0"),
        (["--region", "2"], "`--region 2`: `max_fpr` is a rate"),
        (["--regions", "0.1"], "`--regions` cannot be given to pauc advise: give one --region"),
        (["--baseline=upauci"], "methods are compared with ce"),
        (["--tuned", "5"], "`--tuned` cannot be given to pauc advise"),
        (["--methods", "upuci"], "Did you mean `upauci`?"),
        (["--backbones", "LinearScorer", "MLPScorer"], "one data set and one backbone"),
    ],
)
def test_mistakes_get_a_sentence(
    options: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(["advise", "-c", "digits", *options])
    assert stopped.value.code == 2
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_method_that_fails_on_a_split_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    write_table(Path("mine.csv"))
    Path("methods_that_fail.py").write_text(
        "from pauc_lightning.methods import CE\n\n"
        "class FailsOnSeedOne(CE):\n"
        "    def on_train_start(self):\n"
        "        super().on_train_start()\n"
        "        if self.trainer.datamodule.seed == 1:\n"
        "            raise RuntimeError('the disk melted')\n"
    )
    Path("configs/method").mkdir(parents=True)
    Path("configs/method/fragile.yaml").write_text("model: {class_path: methods_that_fail.FailsOnSeedOne}\n")
    main(
        [
            *(
                "advise",
                "-c",
                "tabular",
                "--data.path",
                "mine.csv",
                "--data.label",
                "label",
                "--region",
                "0.3",
            ),
            *("--model.backbone", "LinearScorer", "--methods", "fragile", *SMALL),
        ]
    )
    page = Path("runs/advise/advice.md").read_text()
    assert "the disk melted" in capsys.readouterr().out
    assert "2 splits" in page.splitlines()[0]
    assert "- fragile, OPAUC (FPR ≤ 0.3), seed 1: " in page
    assert "the disk melted" in page
    assert "‡" in Path("runs/advise/table.md").read_text()
