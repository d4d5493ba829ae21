"""Methods of a comparison that start from their initial weights instead of the common warm-up, in process."""

from __future__ import annotations

import csv
import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor

from pauc_lightning.cli import main
from pauc_lightning.cli.configs import find_and_check
from pauc_lightning.errors import InputError
from pauc_lightning.experiments import comparison
from pauc_lightning.experiments.cells import Run, WarmUp
from pauc_lightning.experiments.commands import fit_arguments
from pauc_lightning.experiments.request import parse
from pauc_lightning.region import Region

WARM_UP, EPOCHS = 1, 2
REGION = "opauc_fpr0.3"
LINEAR = ("--model.backbone=LinearScorer", "--data.imbalance_ratio=0.05", "--trainer.accelerator=cpu")
EARLY = ("--for", "ce_early", "config=ce", "start=initial")
CODE = """\
from pathlib import Path
from pauc_lightning.methods import CE

class Once(CE):
    '''Is stopped in its second epoch, the first time.'''

    def training_step(self, batch, batch_idx):
        if self.trainer.current_epoch == 1 and batch_idx == 1 and not Path("stopped").exists():
            Path("stopped").touch()
            raise KeyboardInterrupt
        return super().training_step(batch, batch_idx)
"""


@pytest.fixture(autouse=True)
def _in_a_project_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])
    monkeypatch.setattr(comparison, "n_cores", lambda: 1)
    Path("stopped_methods.py").write_text(CODE)
    Path("configs/method").mkdir(parents=True)
    Path("configs/method/once.yaml").write_text("model: {class_path: stopped_methods.Once}\n")


def compare(*arguments: str, out: str = "x") -> None:
    lengths = (f"--warmup_epochs={WARM_UP}", f"--epochs={EPOCHS}", f"--out={out}")
    seeds = () if "--seeds" in arguments else ("--seeds", "0")
    main(["compare", "-c", "digits", *LINEAR, *lengths, *seeds, *arguments])


def fit(method: str, *arguments: str, name: str = "alone") -> Path:
    """The same training as ``pauc fit``, from initial weights."""
    main(
        [
            *("fit", "-c", "digits", "-c", method, *LINEAR, "--trainer.devices=1", "--model.warmup_epochs=0"),
            *("--seed_everything=0", "--data.seed=0", f"--trainer.max_epochs={WARM_UP + EPOCHS}"),
            *("--model.max_fpr=0.3", "--test_best=true", "--run_dir=fit", f"--run_name={name}", *arguments),
        ]
    )
    return Path("fit") / name / "version_0"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as stopped:
        compare(*arguments)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def run_folder(method: str, seed: int = 0, out: str = "x") -> Path:
    return Path(out) / f"{method}-{REGION}-seed{seed}" / "version_0"


def settings(folder: Path) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((folder / "config.yaml").read_text())
    return config


def result_of(folder: Path) -> float:
    return float(json.loads((folder / "test_metrics.json").read_text())["pauc"])


def validated(folder: Path) -> list[str]:
    with (folder / "metrics.csv").open() as file:
        return [row["val/pauc"] for row in csv.DictReader(file) if row["val/pauc"]]


def weights(folder: Path) -> list[Tensor]:
    state = torch.load(folder / "checkpoints/best.ckpt", weights_only=True)["state_dict"]
    return [value for key, value in sorted(state.items()) if key.startswith("backbone.")]


def are_equal(first: Sequence[Tensor], second: Sequence[Tensor]) -> bool:
    return len(first) == len(second) > 0 and all(map(torch.equal, first, second))


# ---------------------------------------------------------------------- what is asked for


def test_the_file_and_the_command_line_say_where_a_method_starts() -> None:
    section = "compare: {methods: {ce: , ce_early: {config: ce, start: initial, model.momentum: 0.5}}}\n"
    Path("mine.yaml").write_text(section)
    common = ("--warmup_epochs", "3", "--epochs", "4", "--seeds", "0", "1")
    plan = parse(find_and_check(["-c", "digits", "-c", "mine.yaml", *common]))
    assert {label: method.start for label, method in plan.methods.items()} == {
        "ce": "warmup",
        "ce_early": "initial",
    }
    early, usual = (Run(method, Region(0.3), 1) for method in ("ce_early", "ce"))
    assert [plan.epochs_of(cell) for cell in (early, usual, WarmUp(1))] == [7, 4, 3]
    assert [plan.warm_up_of(cell) for cell in (early, usual, WarmUp(1))] == [None, WarmUp(1), None]
    assert plan.warm_ups == [WarmUp(0), WarmUp(1)]
    arguments = fit_arguments(plan, early, None)
    assert "--trainer.max_epochs=7" in arguments
    assert "--model.momentum=0.5" in arguments
    assert not any("start" in argument for argument in arguments)

    # The command line wins, and needs no file for a new label.
    plan = parse(find_and_check(["-c", "mine.yaml", *common, "--for", "ce_early", "start=warmup"]))
    assert plan.methods_from_initial_weights == ()
    typed = parse(find_and_check(["-c", "digits", *common, "--methods", "ce", "ce_early", *EARLY]))
    assert typed.methods_from_initial_weights == ("ce_early",)
    assert typed.methods["ce_early"].configs == typed.methods["ce"].configs
    alone = parse(
        find_and_check(["-c", "digits", *common, "--methods", "ce", "--for", "ce", "start=initial"])
    )
    assert alone.warm_ups == []


def test_without_warm_ups_all_methods_start_alike() -> None:
    given = ["-c", "digits", "--methods", "ce", "ce_early", *EARLY, "--warmup_epochs", "0", "--epochs", "4"]
    plan = parse(find_and_check(given))
    assert [plan.epochs_of(run) for run in plan.runs] == [4] * 6
    assert plan.methods_from_initial_weights == ()  # nothing to be said of it


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (
            "methods: {ce: {start: early}}",
            "",
            r"`ce: {start: early}`: a method starts at the end of the common",
        ),
        ("methods: {ce: {start: }}", "", r"`ce: {start: None}`: a method starts"),
        ("methods: [ce]", "--for ce start=0", r"`--for ce start=0`: a method starts .* \(`start: initial`\)"),
        ("methods: [ce]", "--for warmup start=initial", "`--start` for warmup cannot be given"),
        ("warmup: {start: warmup}", "", "a warm-up always starts from initial weights"),
        ("data: {d: {config: digits, start: initial}}", "", "`--start` for d cannot be given"),
        ("methods: [ce]", "--start=initial", r"`--start` cannot be given .* `--for <method> start=initial`"),
        ("methods: [ce]", "--model.init_weights=a.ckpt", r"`--for <method> start=initial`"),
        ("methods: [ce]", "--for ce config=upauci", "is given in a file"),
        ("methods: [ce]", "--methods ce new --for new config=upauc", "Did you mean `upauci`"),
        ("data: {d: {config: digits}}", "--for d config=digits", "is given in a file"),
    ],
)
def test_a_mistake_gets_a_sentence(text: str, arguments: str, said: str) -> None:
    Path("mine.yaml").write_text(f"compare: {{{text}}}\n")
    with pytest.raises(InputError, match=said):
        parse(find_and_check(["-c", "mine.yaml", *arguments.split()]))


# ---------------------------------------------------------------------- trainings


def test_it_trains_as_pauc_fit_does_from_initial_weights(capsys: pytest.CaptureFixture[str]) -> None:
    compare(
        *("--methods", "ce", "ce_early", "corner", "--seeds", "0", "1", *EARLY),
        *("--for", "corner", "config=partial_auc", "start=initial"),
    )
    said = capsys.readouterr().out
    sentence = (
        "ce_early and corner started from their initial weights, with the warm-up's epochs on top, so they may stop "
        "early: the best epoch on the validation part counts."
    )
    assert said.count(sentence) == 1
    assert sentence in Path("x/table.md").read_text()
    assert "ce\\_early and corner started from" in Path("x/table.tex").read_text()
    for method, config in (("ce_early", "ce"), ("corner", "partial_auc")):
        of_run, alone = settings(run_folder(method)), fit(config, name=config)
        assert of_run["model"]["init_args"]["init_weights"] is None
        assert of_run["model"]["init_args"]["warmup_epochs"] == 0
        assert of_run["trainer"]["max_epochs"] == WARM_UP + EPOCHS
        assert validated(run_folder(method)) == validated(alone)
        assert len(validated(alone)) == WARM_UP + EPOCHS
        assert are_equal(weights(run_folder(method)), weights(alone))
        assert result_of(run_folder(method)) == result_of(alone)
    usual = settings(run_folder("ce"))
    assert usual["model"]["init_args"]["init_weights"] == "x/warmup-seed0/version_0/checkpoints/last.ckpt"
    assert usual["trainer"]["max_epochs"] == EPOCHS
    assert len(validated(run_folder("ce"))) == 1 + EPOCHS  # the start is validated, too


def test_two_processes_and_one_find_the_same() -> None:
    methods = ("--methods", "ce", "ce_early", "--seeds", "0", "1", *EARLY)
    compare(*methods)
    compare(*methods, "--processes", "2", out="y")
    assert Path("x/table.csv").read_text() == Path("y/table.csv").read_text()


def test_an_interrupted_one_goes_on_to_the_same_end(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--methods", "once", "--for", "once", "start=initial", "--checkpoint.seconds_between_saves=0")
    with pytest.raises(SystemExit) as stopped:
        compare(*given)
    assert stopped.value.code == 130
    assert not list(Path("x").glob("warmup-*"))  # nobody starts there
    capsys.readouterr()
    compare(*given)
    assert not (run_folder("once").parent / "version_1").exists()  # continued
    assert are_equal(weights(run_folder("once")), weights(fit("once")))
    assert result_of(run_folder("once")) == result_of(Path("fit/alone/version_0"))


def test_a_summary_of_several_data_sets_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("two.yaml").write_text(
        "compare: {data: {a: {config: digits}, b: {config: digits, data.positive_classes: [0]}}, "
        "methods: {ce: , ce_early: {config: ce, start: initial}}}\n"
    )
    compare("-c", "two.yaml")
    assert "ce_early started from its initial weights" in Path("x/summary.md").read_text()


# ---------------------------------------------------------------------- the directory


def test_comparison_json_records_it_and_is_otherwise_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    compare("--methods", "ce")
    note = json.loads(Path("x/comparison.json").read_text())
    assert list(note["methods"]["ce"]) == ["config", "options"]  # as earlier versions wrote it
    before = (run_folder("ce") / "test_metrics.json").stat().st_mtime_ns
    compare("--methods", "ce", "ce_early", *EARLY)
    assert (run_folder("ce") / "test_metrics.json").stat().st_mtime_ns == before
    note = json.loads(Path("x/comparison.json").read_text())
    assert "start" not in note["methods"]["ce"]
    assert note["methods"]["ce_early"]["start"] == "initial"
    said = refused(capsys, "--methods", "ce", "ce_early", *EARLY[:3])
    assert "holds runs of ce_early with another start (initial, now warmup)" in said
    said = refused(capsys, "--methods", "ce", "--for", "ce", "start=initial")
    assert "holds runs of ce with another start (warmup, now initial)" in said


# ---------------------------------------------------------------------- tuned


def trial(method: str, number: int) -> Path:
    return Path(f"x/tuning-{REGION}-seed0/{method}/trial{number:03d}")


def values(method: str) -> list[float]:
    return [json.loads((trial(method, n) / "trial.json").read_text())["runs"][0]["value"] for n in range(2)]


def test_tuned_trials_start_there_too() -> None:
    Path("configs/method/ce.search.yaml").write_text("model.learning_rate: {log: [0.1, 1], first: [0.5]}\n")
    compare("--methods", "ce", "ce_early", "--tuned", "2", *EARLY)
    for method, epochs in (("ce", EPOCHS), ("ce_early", WARM_UP + EPOCHS)):
        assert sorted(path.name for path in trial(method, 0).parent.glob("trial*")) == [
            "trial000",
            "trial001",
        ]
        for number in range(2):
            config = settings(trial(method, number) / "seed0/version_0")
            assert config["trainer"]["max_epochs"] == epochs
            assert (config["model"]["init_args"]["init_weights"] is None) == (method == "ce_early")
        # Its search file is that of its config.
        assert json.loads((trial(method, 1) / "trial.json").read_text())["parameters"] == {
            "model.learning_rate": 0.5
        }

    # The second trial is what `pauc fit` trains with these settings; it is the better one, and its file says so.
    assert values("ce_early")[1] > values("ce_early")[0]
    alone = fit("ce", "--model.learning_rate=0.5")
    assert values("ce_early")[1] == max(map(float, validated(alone)))
    assert result_of(run_folder("ce_early")) == result_of(alone)
    best = Path(f"x/tuning-{REGION}-seed0/best_ce_early.yaml")
    text = best.read_text()
    assert "3 epochs. Found by" in text
    assert "Tuned from initial weights, without a warm-up." in text
    written = yaml.safe_load(text)
    assert (written["trainer"]["max_epochs"], written["model"]["init_args"]["warmup_epochs"]) == (3, 0)
    command = re.search(r"^#   OMP_NUM_THREADS=1 pauc (.*)$", text, re.MULTILINE)
    assert command is not None
    assert "init_weights" not in command[1]
    main([*shlex.split(command[1]), "--run_dir=fit", "--run_name=repeated"])
    assert are_equal(
        weights(Path("fit/repeated/version_0")), weights(trial("ce_early", 1) / "seed0/version_0")
    )
    usual = best.with_name("best_ce.yaml").read_text()
    assert "1 + 2 epochs. Found by" in usual
    assert "Tuned after a warm-up that all methods share." in usual
    assert "--model.init_weights=x/warmup-seed0/version_0/checkpoints/last.ckpt" in usual
    table = best.with_name("table.md").read_text()
    assert "ce_early starts from its initial weights and may stop early." in table


def test_methods_from_the_warm_up_join_tuned_ones_that_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    compare("--methods", "ce_early", "--tuned", "1", *EARLY)
    assert not list(Path("x").rglob("warmup-*"))
    before = result_of(run_folder("ce_early"))
    compare("--methods", "ce_early", "ce", "--tuned", "1", *EARLY)
    assert [path.parent.name for path in Path("x").rglob("warmup-*")] == ["x"]
    assert settings(trial("ce", 0) / "seed0/version_0")["model"]["init_args"]["init_weights"] is not None
    assert result_of(run_folder("ce_early")) == before

    # Trials without a tested run are not mixed either.
    for method in ("ce", "ce_early"):
        (run_folder(method) / "test_metrics.json").unlink()
    said = refused(capsys, "--methods", "ce_early", "ce", "--tuned", "1", *EARLY[:3])
    assert "holds trials of ce_early with another start" in said
    said = refused(capsys, "--methods", "ce", "--tuned", "1", "--for", "ce", "start=initial")
    assert "holds trials of ce with another start" in said
