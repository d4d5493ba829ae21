"""``pauc compare`` as users call it, in process."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest
import torch
from torch import Tensor

from pauc_lightning.cli import main
from pauc_lightning.data import DigitsLT
from pauc_lightning.experiments import comparison, directory, lock
from pauc_lightning.experiments.inner_run import InnerRuns, RunFailed
from pauc_lightning.methods import CE
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.models import MLPScorer

ROOT = Path(__file__).parents[2]
DIGITS = "configs/data/digits.yaml"
SMALL = ("--trainer.accelerator=cpu", "--trainer.log_every_n_steps=2")
METHODS = {
    # Steps of length zero: the weights after training are those it started from.
    "frozen": "{class_path: CE, init_args: {learning_rate: 0.0}}",
    # Weight decay that leaves nothing of the weights.
    "shrinking": "{class_path: CE, init_args: {learning_rate: 0.1, momentum: 0.0, weight_decay: 10.0}}",
    "exploding": "{class_path: CE, init_args: {learning_rate: 1.0e+30}}",
    "interrupted": "{class_path: methods_of_mine.Interrupted}",
    "complaining": "{class_path: methods_of_mine.Complaining, init_args: {learning_rate: 0.0}}",
}
CODE = """\
import warnings
from pauc_lightning.methods import CE

class Interrupted(CE):
    def training_step(self, batch, batch_idx):
        raise KeyboardInterrupt

class Complaining(CE):
    def on_train_start(self):
        super().on_train_start()
        warnings.warn("the moon is full")
        print("howling")
"""


@pytest.fixture(autouse=True)
def _in_a_project_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    for name, model in METHODS.items():
        (tmp_path / f"configs/method/{name}.yaml").write_text(f"model: {model}\n")
    (tmp_path / "methods_of_mine.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])
    monkeypatch.setattr(comparison, "n_cores", lambda: 1)  # whatever the machine, no core stays idle


def run(*arguments: object) -> None:
    main([str(argument) for argument in arguments])


def compare(*arguments: object, warmup: int = 1, epochs: int = 1) -> None:
    run("compare", "-c", DIGITS, f"--warmup_epochs={warmup}", f"--epochs={epochs}", *arguments, *SMALL)


def ends(capsys: pytest.CaptureFixture[str], status: int, *arguments: object) -> tuple[str, str]:
    """What a command that ends with a status other than 0 writes to stdout and stderr."""
    with pytest.raises(SystemExit) as stopped:
        run(*arguments)
    assert stopped.value.code == status
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    return said.out, said.err


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    return ends(capsys, 2, *arguments)[1]


def weights(checkpoint: Path) -> list[Tensor]:
    state = torch.load(checkpoint, weights_only=True)["state_dict"]
    return [value for key, value in sorted(state.items()) if key.startswith("backbone.")]


def are_equal(first: Sequence[Tensor], second: Sequence[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def scores_on(part: Literal["train", "val", "test"], seed: int, checkpoint: Path) -> tuple[Tensor, Tensor]:
    """Scores and labels of a part of the digits, computed here."""
    data = DigitsLT(seed=seed)
    module = CE(backbone=MLPScorer(), input_shape=data.input_shape).eval()
    module.load_backbone(str(checkpoint))
    dataset = data.dataset(part)
    samples = dataset.__getitems__(range(len(dataset)))
    with torch.no_grad():
        return module(data.eval_transform(samples.input)).double().sigmoid(), samples.target


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_methods_start_at_the_end_of_their_seeds_warm_up() -> None:
    """A method that does not move ends where it started; its result is that of these weights on its seed's split."""
    # The warm-up clearly gets better, so the checkpoint with the least value is not that of the last epoch.
    ce = Path("configs/method/ce.yaml")
    ce.write_text(ce.read_text() + "  init_args: {learning_rate: 0.1}\n")
    compare("--methods", "frozen", "--seeds", 0, 1, "--checkpoint.mode=min", warmup=3)
    starts = {}
    for seed in (0, 1):
        folder = Path(f"runs/compare/frozen-opauc_fpr0.3-seed{seed}/version_0")
        warm_up = Path(f"runs/compare/warmup-seed{seed}/version_0")
        last = torch.load(warm_up / "checkpoints/last.ckpt", weights_only=True)
        rows = read_csv(warm_up / "metrics.csv")
        assert last["global_step"] == 1 + max(int(row["step"]) for row in rows)
        starts[seed] = weights(folder / "checkpoints/best.ckpt")
        assert are_equal(starts[seed], weights(warm_up / "checkpoints/last.ckpt"))
        assert not are_equal(starts[seed], weights(warm_up / "checkpoints/best.ckpt"))
        assert (
            json.loads((folder / "fit.json").read_text())["best_value"] is None
        )  # the least is not the best
        note = json.loads((warm_up.parent / "finished.json").read_text())
        assert note == {
            "checkpoint": "version_0/checkpoints/last.ckpt",
            "epoch": last["epoch"],
            "steps": last["global_step"],
        }
        value = json.loads((folder / "test_metrics.json").read_text())["pauc"]
        own, other = (
            float(binary_partial_auc(*scores_on("test", split, folder / "checkpoints/best.ckpt"), 0.3))
            for split in (seed, 1 - seed)
        )
        assert value == pytest.approx(own, abs=1e-6)
        assert value != pytest.approx(other, abs=1e-3)
    assert not are_equal(starts[0], starts[1])


def test_without_a_warm_up_methods_start_from_the_initial_weights_of_their_seed() -> None:
    compare("--methods", "frozen", "--seeds", 0, 1, warmup=0)
    assert not list(Path("runs/compare").glob("warmup-*"))
    first, second = (
        weights(Path(f"runs/compare/frozen-opauc_fpr0.3-seed{seed}/version_0/checkpoints/best.ckpt"))
        for seed in (0, 1)
    )
    assert not are_equal(first, second)


def test_a_comparison_goes_on_where_it_was_and_saves_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    out = Path("runs/compare")
    compare("--methods", "ce", "--seeds", 0)
    said = capsys.readouterr()
    assert "±" not in said.out  # one seed has no deviation
    assert said.err == ""
    assert len(said.out.splitlines()) == 2 + 1 + 3 + 1 + 1  # cells, table, where it is
    files = ("table.md", "table.tex", "table.csv", "roc.png")
    assert f"Saved: {', '.join(f'runs/compare/{file}' for file in files)}" in said.out
    compare("--methods", "ce", "upauci", "--seeds", 0, 1)
    said = capsys.readouterr()
    assert "1 of 4 runs are finished already." in said.out
    assert re.search(
        r"^\[1/4\] upauci, OPAUC \(FPR ≤ 0.3\), seed 0: 0\.\d{4} \(\d+ s; at least", said.out, re.M
    )
    assert re.search(r"^\[2/4\] warm-up, seed 1: done \(", said.out, re.M)
    assert said.out.index("[4/4]") < said.out.index("| method |")
    assert len(list(out.glob("*/version_*"))) == 6
    values = {
        (method, seed): json.loads(
            (out / f"{method}-opauc_fpr0.3-seed{seed}/version_0/test_metrics.json").read_text()
        )["opauc_fpr0.3"]
        for method in ("ce", "upauci")
        for seed in (0, 1)
    }
    mean = (values["upauci", 0] + values["upauci", 1]) / 2
    gain = mean - (values["ce", 0] + values["ce", 1]) / 2
    line = rf"\| upauci \| \**{mean:.4f} ± \d\.\d{{4}}\** \| {re.escape(f'{gain:+.4f}')} \["
    assert re.search(line, said.out)
    assert re.search(line, (out / "table.md").read_text())
    rows = read_csv(out / "table.csv")
    assert [(row["quantity"], row["method"]) for row in rows] == [
        (quantity, method) for quantity in ("test_pauc", "val_pauc") for method in ("ce", "upauci")
    ]
    for row in rows[:2]:
        assert [float(row["seed_0"]), float(row["seed_1"])] == [
            values[row["method"], seed] for seed in (0, 1)
        ]
    assert float(rows[1]["gain"]) == pytest.approx(gain)

    shutil.move(out, "moved")  # a comparison may be moved
    compare("--methods", "ce", "upauci", "--seeds", 0, 1, "--out=moved")
    assert "[1/" not in capsys.readouterr().out
    assert "warmup_epochs: 1, now 2" in refused(
        capsys, "compare", "-c", DIGITS, "--warmup_epochs=2", "--epochs=1", "--out=moved", *SMALL
    )


def test_collapsed_and_failed_runs_are_marked_and_do_not_stop_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("compare", "-c", DIGITS, "--warmup_epochs=1", "--epochs=3", "--seeds", 0, *SMALL)
    out, _ = ends(capsys, 1, *arguments, "--methods", "exploding", "shrinking", "ce", "--baseline", "ce")
    assert re.search(r"^\| exploding \| failed ‡ \| - \|$", out, flags=re.MULTILINE)
    assert re.search(r"^‡ The run failed", out, flags=re.MULTILINE)
    assert re.search(r"^  - exploding, OPAUC \(FPR ≤ 0.3\), seed 0: .*finite", out, flags=re.MULTILINE)
    assert re.search(r"^\| shrinking \| \**0\.\d{4} °†\** \|", out, flags=re.MULTILINE)
    assert re.search(r"^  - shrinking, OPAUC .*, seed 0: by step \d+, all scores of the batch are", out, re.M)
    assert re.search(r"^\| ce \| \**0\.\d{4}\** \| - \|$", out, flags=re.MULTILINE)
    log = Path("runs/compare/exploding-opauc_fpr0.3-seed0/log.txt")
    assert "finite" in log.read_text()
    assert f"Its log is {log}." in out
    rows = {
        row["method"]: row
        for row in read_csv(Path("runs/compare/table.csv"))
        if row["quantity"] == "test_pauc"
    }
    assert (rows["exploding"]["failed_seeds"], rows["exploding"]["seed_0"]) == ("0", "")
    assert (rows["shrinking"]["collapsed_seeds"], rows["ce"]["collapsed_seeds"]) == ("0", "")

    run(*arguments, "--methods", "shrinking", "ce", "--baseline", "ce")
    again = capsys.readouterr().out
    assert "[1/" not in again
    assert re.search(r"^\| shrinking \| \**0\.\d{4} °†\** \|", again, flags=re.MULTILINE)  # remembered


def test_an_interrupted_comparison_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("compare", "-c", DIGITS, "--warmup_epochs=1", "--epochs=1", "--seeds", 0, *SMALL)
    out, err = ends(capsys, 130, *arguments, "--methods", "ce", "interrupted", "upauci")
    said, command = err.split(" To continue, type:\n")
    assert said.endswith("Interrupted: 1 of 3 runs are finished.")
    assert shlex.split(command) == ["pauc", *map(str, arguments), "--methods", "ce", "interrupted", "upauci"]
    assert "[4/4]" not in out
    assert not Path("runs/compare/table.md").exists()


class Terminal(io.StringIO):
    """Looks like a terminal to who asks."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_one_live_table_and_the_runs_keep_their_words_in_logs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The runs' chatter goes to their logs, a warning is named once, and the ROC curves are saved."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stdout", screen := Terminal())
    # No regular refresh in time: starts and ends of trainings are drawn when they happen.
    monkeypatch.setattr("pauc_lightning.experiments.display._PER_SECOND", 0.01)
    compare("--methods", "complaining", "ce", "--seeds", 0, "--regions", "0.3", warmup=0, epochs=2)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
    live, result = shown.rsplit("\nmethod ", 1)
    assert "estimating the time left" in live
    assert "▸ complaining, OPAUC (FPR ≤ 0.3), seed 0" in live
    assert re.search(r"^complaining +0\.\d{4}", live, re.M)
    assert re.search(r"^ce +0\.\d{4} +[+-]0\.\d{4}", result, re.M)
    log = Path("runs/compare/complaining-opauc_fpr0.3-seed0/log.txt")
    assert f"complaining, OPAUC (FPR ≤ 0.3), seed 0: the moon is full (in {log})" in result
    assert "howling" not in shown
    assert "GPU available" not in shown
    assert {"howling", "UserWarning: the moon is full"} <= set(log.read_text().splitlines())

    folder = Path("runs/compare/ce-opauc_fpr0.3-seed0/version_0")
    rates = [(float(row["fpr"]), float(row["tpr"])) for row in read_csv(folder / "test_roc.csv")]
    area = sum((x - x0) * (y + y0) / 2 for (x0, y0), (x, y) in itertools.pairwise(rates))
    assert area == pytest.approx(json.loads((folder / "test_metrics.json").read_text())["auc"], abs=1e-6)
    assert Path("runs/compare/roc.png").read_bytes().startswith(b"\x89PNG")


def test_two_comparisons_in_one_directory_do_not_meet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_SECONDS", 0.1)
    with directory.ComparisonDirectory(Path("runs/compare")).held():
        before = sorted(Path("runs").rglob("*"))
        message = refused(capsys, "compare", "-c", DIGITS, "--methods", "ce", "--seeds", 0, *SMALL)
        assert sorted(Path("runs").rglob("*")) == before
    assert message.startswith("error: `--out runs/compare` is in use by another `pauc compare`: wait")


def test_the_help_is_short_and_shows_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run("compare", "--help")
    assert stopped.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) <= 100
    text = " ".join(" ".join(lines).split())
    for default in ("ce pauci upauci", "0.3", "0 1 2", "10", "20", "the first", "runs/compare"):
        assert f"(default: {default})" in text


def test_what_an_inner_run_ends_in(recwarn: pytest.WarningsRecorder) -> None:
    """An exception is a failure with its traceback kept; an exit without a sentence, as Lightning's, an interrupt."""

    def command(arguments: Sequence[str]) -> None:
        if arguments[0] == "break":
            raise RuntimeError("the disk\nis gone")
        raise SystemExit(int(arguments[0]))

    inner = InnerRuns(command)
    with pytest.raises(RunFailed, match=r"^RuntimeError: the disk$") as failed:
        inner(["break"])
    assert "is gone" in failed.value.said.text
    assert "Traceback" in failed.value.said.text
    for status in ("0", "1", "130"):
        with pytest.raises(KeyboardInterrupt):
            inner([status])
    assert inner(["0", "--print_config"]).text == ""


def test_comparison_on_the_training_part(capsys: pytest.CaptureFixture[str]) -> None:
    """Against the scores of the checkpoint, computed here, and all pairs of the region."""
    arguments = ("--regions", "0.3,0.5", "--methods", "ce", "upauci", "--seeds", 0, "--train_part")
    compare(*arguments, "--baseline", "upauci", epochs=2)
    said = capsys.readouterr().out
    assert said.count("\nEvaluating 2 runs on the training part ...\n") == 1
    folder = Path("runs/compare/upauci-tpauc_fpr0.3_tpr0.5-seed0/version_0")
    scores, labels = scores_on("train", 0, folder / "checkpoints/best.ckpt")
    pauc = float(binary_partial_auc(scores, labels, 0.3, 0.5))
    validated = float(binary_partial_auc(*scores_on("val", 0, folder / "checkpoints/best.ckpt"), 0.3, 0.5))
    positives, negatives = scores[labels == 1].sort()[0], scores[labels == 0].sort(descending=True)[0]
    pairs = positives[: len(positives) // 2, None] - negatives[None, : int(len(negatives) * 0.3)]
    risk = float(((1 - pairs) ** 2).mean())
    values = re.findall(r"^\| upauci \| \**(-?[\d.]+)\** \| - \|$", said, flags=re.MULTILINE)
    assert [float(value) for value in values[1:]] == [
        pytest.approx(pauc, abs=1e-4),
        pytest.approx(pauc - validated, abs=1e-4),
        pytest.approx(risk, abs=2e-3),  # 0.3 of the negatives is not a whole number
    ]
    assert (said.count("gain over upauci"), said.count("difference to upauci")) == (2, 2)
    rows = read_csv(Path("runs/compare/table.csv"))
    assert [row["quantity"] for row in rows[::2]] == [
        *("test_pauc", "val_pauc", "train_pauc", "train_gap", "train_risk")
    ]
    # At the best epoch: the same model as the one that was evaluated here.
    assert float(rows[3]["seed_0"]) == pytest.approx(validated, abs=1e-5)

    for predictions in Path("runs/compare").glob("*/version_0/*_predictions.csv"):
        predictions.unlink()
    compare(*arguments, epochs=2)
    assert not list(Path("runs/compare").glob("*/version_0/*_predictions.csv"))  # looked at before
    assert "Evaluating" not in capsys.readouterr().out


def test_a_directory_of_another_comparison_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    common = ("compare", "-c", DIGITS, "--seeds", 0, "--warmup_epochs=1", "--epochs=1", *SMALL)
    both = (*common, "--methods", "ce", "upauci")
    upauci, note = Path("configs/method/upauci.yaml"), Path("runs/compare/comparison.json")
    shipped = upauci.read_text()
    upauci.write_text(shipped + "  init_args: {omgea: 0.4}\n")
    assert "Did you mean `omega`?" in refused(capsys, *both)
    assert not Path("runs").exists()
    upauci.write_text(shipped + "  init_args: {omega: 0.4}\n")
    run(*both)
    assert "omega: 0.4" in json.loads(note.read_text())["files"][str(upauci)]
    said = refused(capsys, *both, "--data.positive_classes=[0]")
    assert "holds a comparison with other settings (options: " in said
    assert "Give another --out" in said
    upauci.write_text(shipped)
    assert f"another version of {upauci}" in refused(capsys, *both)
    run(*common, "--methods", "ce")
    without = {key: value for key, value in json.loads(note.read_text()).items() if key != "files"}
    note.write_text(json.dumps(without))  # as earlier versions wrote it
    assert f"{DIGITS}, whose content {note} does not record" in refused(capsys, *both)
    note.write_text("{")
    assert f"{note} is damaged" in refused(capsys, *both)


def test_a_warm_up_that_is_not_at_its_end_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    plan = ("--methods", "frozen", "--seeds", 0, "--warmup_epochs=2", "--epochs=1")
    arguments = ("compare", "-c", DIGITS, *plan, *SMALL)
    run(*arguments)
    note = Path("runs/compare/warmup-seed0/finished.json")
    content = json.loads(note.read_text())
    checkpoint = note.parent / content["checkpoint"]
    assert content["epoch"] == 1

    # As an earlier version left it: the path alone, of a checkpoint at the best epoch.
    note.write_text(json.dumps({"checkpoint": str(checkpoint)}))
    run(*arguments)  # which may have been the last
    whole = torch.load(checkpoint, weights_only=True)
    torch.save({**whole, "epoch": 0, "global_step": whole["global_step"] // 2}, checkpoint)
    said = refused(capsys, *arguments)
    assert (
        "its checkpoint at epoch 1, not at its end (epoch 2), as an earlier version of pauc made it" in said
    )
    assert "Give another --out" in said

    note.write_text(json.dumps(content))
    assert f"not at its end (step {whole['global_step']})" in refused(capsys, *arguments)
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    assert f"cannot start from {checkpoint}" in refused(capsys, *arguments)
    note.unlink()  # it was stopped: it is made again, and nothing else
    run(*arguments)
    assert not note.exists()  # the only run is finished
    shutil.rmtree("runs/compare/frozen-opauc_fpr0.3-seed0")
    run(*arguments)
    assert json.loads(note.read_text()) == {**content, "checkpoint": "version_1/checkpoints/last.ckpt"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--methods ce ce", "`--methods ce ce`: ce is given twice"),
        ("--methods ec", "Did you mean `ce`?"),
        ("--methods ../method/ce", "give a name, not a path"),
        ("--methods", "`--methods` needs a value"),
        ("--baseline sopa", "`--baseline sopa` is not among --methods"),
        ("--seeds 1 01", "01, which is the same as 1, is given twice"),
        ("--seeds -1", "`--seeds -1`: give a whole number that is at least 0"),
        ("--seeds 1.5", "`--seeds 1.5`: give a whole number"),
        ("--seeds 4294967296", "at most 4294967295"),
        ("--regions 0.3 0.30", "0.30, which is the same as 0.3, is given twice"),
        ("--regions 0.3,0 0.3", "given twice"),
        ("--regions 2", "`--regions 2`: `max_fpr` is a rate in [0, 1]"),
        ("--regions nan", "`--regions nan`: `max_fpr` is a rate"),
        ("--regions 0", "the region is empty"),
        ("--regions 0.3,1", "`min_tpr` must be smaller than 1"),
        ("--regions low", "write max_fpr, such as 0.3"),
        ("--regions 0.1,0.2,0.3", "write max_fpr, such as 0.3"),
        ("--epochs 0", "`--epochs 0`: give a whole number that is at least 1"),
        ("--epochs two", "`--epochs two`: give a whole number"),
        (
            "--epochs 2 --trainer.check_val_every_n_epoch=3",
            "none of a method's epochs, 2, would be validated",
        ),
        ("--warmup_epochs -1", "`--warmup_epochs -1`: give a whole number that is at least 0"),
        ("--seed 0", "give --seeds instead"),
        ("--epoch 3", "Did you mean `--epochs`?"),
        ("--run_dir here", "`--run_dir` cannot be given to pauc compare: give --out"),
        ("--seed_everything=3", "give --seeds instead"),
        ("--data.seed 3", "give --seeds instead"),
        ("--data.init_args.seed=3", "give --seeds instead"),
        ("--trainer.max_epochs=3", "give --epochs and --warmup_epochs instead"),
        ("--trainer.max_epoch=3", "give --epochs and --warmup_epochs instead"),
        ("--model.init_weights=a.ckpt", "every method starts from the common warm-up"),
        ("--model.max_fpr=0.1", "give --regions instead"),
        ("--model=CE", "give --methods instead"),
        ("--trainer.logger=false", "every run is kept in --out"),
        ("--trainer.fast_dev_run=true", "it saves nothing"),
        ("--test_best=false", "every run is tested"),
        ("--ckpt_path=last", "type its command again"),
        ("--trainer.max_timee=3", "Did you mean `--trainer.max_time`?"),
        ("--model.learning_rat=3", "Did you mean `learning_rate`?"),
        ("--model.momentum=fast", "momentum"),
        ("--data.help DigitsLT", "type pauc fit --data.help"),
        ("ce", "`ce` cannot be used here"),
        ("-c nothing.yaml", "`nothing.yaml` is neither a file nor the name of a config"),
        ("-c broken.yaml", "broken.yaml"),
        ("--methods broken", "configs/method/broken.yaml"),
        ("-c binary.yaml", "`-c binary.yaml` is not a text file"),
        ("-c words.yaml", "`-c words.yaml` holds a str, not settings"),
        ("--out words.yaml", "`--out words.yaml`: words.yaml is a file"),
        ("--out words.yaml/here", "words.yaml is a file"),
        ("--executor_options address=[", "`[` cannot be read. Give a number or a word"),
    ],
)
def test_a_mistake_ends_in_a_sentence_before_anything_is_trained(
    arguments: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.yaml").write_text("model: {class_path: [\n")
    shutil.copy("broken.yaml", "configs/method/broken.yaml")
    Path("binary.yaml").write_bytes(b"\x80\x02\xff\xfe")
    Path("words.yaml").write_text("words\n")
    before = sorted(Path().rglob("*"))
    message = refused(capsys, "compare", "-c", DIGITS, *arguments.split())
    assert said in message
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    assert sorted(Path().rglob("*")) == before


def test_a_comparison_without_data_or_backbone_names_what_to_add(capsys: pytest.CaptureFixture[str]) -> None:
    assert "-c digits" in refused(capsys, "compare", "--methods", "ce")
    message = refused(capsys, "compare", "--methods", "ce", "--data=DigitsLT")
    assert "--model.backbone=MLPScorer" in message
    message = refused(capsys, "compare", "-c", "configs/data/tabular.yaml", "--methods", "ce")
    assert "path" in message
    assert not Path("runs").exists()


def test_a_warm_up_that_cannot_work_ends_the_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    message = refused(capsys, "compare", "-c", DIGITS, "--data.positive_classes=[11]", *SMALL)
    assert "11" in message
    assert not Path("runs").exists()
    assert message.count("\n") == 1


def test_tuned_columns_without_optuna_are_refused_before_the_warm_ups(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    message = refused(capsys, "compare", "-c", DIGITS, "--methods", "ce", "--tuned", "2", "--out", "out")
    assert "A search for settings needs Optuna, which is not installed" in message
    assert not Path("out").exists()
