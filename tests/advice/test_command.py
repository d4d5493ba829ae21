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


def run_folder(method: str, seed: int) -> Path:
    return Path(f"runs/advise/{method}-opauc_fpr0.3-seed{seed}/version_0")


def result_of(method: str, seed: int) -> float:
    return float(json.loads((run_folder(method, seed) / "test_metrics.json").read_text())["pauc"])


def validated(method: str, seed: int) -> float:
    """The partial AUC on the validation part at the best epoch."""
    with (run_folder(method, seed) / "metrics.csv").open() as file:
        return max(float(row["val/pauc"]) for row in csv.DictReader(file) if row["val/pauc"])


def better_ce(seed: int) -> str:
    return "ce" if validated("ce", seed) >= validated("ce_early", seed) else "ce_early"


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
    # Of the two kinds of cross-entropy, the one that is better on a split's validation part counts.
    gain = np.mean([result_of("upauci", seed) for seed in range(3)]) - np.mean(
        [result_of(better_ce(seed), seed) for seed in range(3)]
    )
    assert f"upauci gains {gain:+.4f}" in sentence
    n_early = [better_ce(seed) for seed in range(3)].count("ce_early")
    assert f"from its initial weights, where it may stop early (the latter on {n_early} of 3)" in page

    # Settings were searched on the validation part only, with equal budgets.
    for seed in range(3):
        folder = Path(f"runs/advise/tuning-opauc_fpr0.3-seed{seed}")
        trials = [len(list((folder / method).glob("trial*"))) for method in ("ce", "ce_early", "upauci")]
        assert trials[0] == trials[1] == trials[2] >= 1
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
    folders = sorted(Path("runs/advise").glob("tuning-*/*/trial*"))
    shutil.rmtree("runs/advise/upauci-opauc_fpr0.3-seed0")
    main([*command, "--minutes", "1"])
    assert sentence in capsys.readouterr().out
    assert sorted(Path("runs/advise").glob("tuning-*/*/trial*")) == folders


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--seeds", "0", "1"], "`--seeds 0 1`: give at least 3"),
        (["--methods", "ce"], "name a method besides ce"),
        (["--methods", "upauci", "ce_early"], "`--methods ce_early`: it is always compared. Leave it out."),
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


def test_what_early_stopping_gives_cross_entropy_is_no_gain_of_a_method(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long warm-up overfits; `kept` keeps the warm-up's last weights, and cross-entropy from there is no better."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    labels = rng.random(500) < 0.3
    columns = rng.normal(size=(500, 200))
    columns[:, 0] += 1.5 * labels
    with Path("mine.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{number}" for number in range(200)), "label"])
        writer.writerows([*row, int(label)] for row, label in zip(columns.tolist(), labels, strict=True))
    Path("configs/method").mkdir(parents=True)
    for name, step in (("ce", 1.0), ("kept", 0.0)):
        text = f"model: {{class_path: CE, init_args: {{learning_rate: {step}, momentum: 0.9}}}}\n"
        Path(f"configs/method/{name}.yaml").write_text(text)
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
            *("--model.backbone", "LinearScorer", "--methods", "kept", "--minutes", "0.01"),
            *("--warmup_epochs", "30", "--epochs", "1", "--seeds", "0", "1", "2"),
        ]
    )
    page = Path("runs/advise/advice.md").read_text()
    assert [better_ce(seed) for seed in range(3)] == ["ce_early"] * 3
    assert "(the latter on 3 of 3)" in page
    lost = np.mean([result_of("kept", seed) - result_of("ce_early", seed) for seed in range(3)])
    assert lost < -0.02
    assert f"kept gains {lost:+.4f}" in page.splitlines()[0]
    assert (
        abs(np.mean([result_of("kept", seed) - result_of("ce", seed) for seed in range(3)])) < abs(lost) / 2
    )
    means = [np.mean([of("ce_early", seed) for seed in range(3)]) for of in (result_of, validated)]
    row = next(line for line in page.splitlines() if line.startswith("| ce |")).split(" | ")
    assert (row[1], row[-1]) == (f"{means[0]:.4f}", f"{means[1]:.4f} |")
    assert "best_ce_early.yaml" in capsys.readouterr().out.split("Next:")[1]


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
