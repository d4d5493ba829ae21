"""Rows "best of": on each split the one of several methods that is best on the validation part."""

from __future__ import annotations

import csv
import io
import json
import re
import statistics
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pauc_lightning import plotting
from pauc_lightning.cli import main
from pauc_lightning.cli.configs import find_and_check
from pauc_lightning.errors import InputError
from pauc_lightning.experiments import comparison
from pauc_lightning.experiments.best_of import best_on_validation
from pauc_lightning.experiments.board import Board
from pauc_lightning.experiments.cells import Run, Task
from pauc_lightning.experiments.interval import Interval
from pauc_lightning.experiments.outcome import Collapse, Outcome
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.report import Results
from pauc_lightning.experiments.request import parse
from pauc_lightning.experiments.summary import summary_gains
from pauc_lightning.experiments.variant import Variant
from pauc_lightning.figures.gain_table import read_gains
from pauc_lightning.metrics.functional import RocCurve
from pauc_lightning.region import Region

REGION = Region(0.3)
TEST = {"late": [0.50, 0.60, 0.55], "early": [0.52, 0.58, 0.56], "ours": [0.60, 0.70, 0.66]}
VALIDATION = {"late": [0.71, 0.80, 0.70], "early": [0.72, 0.79, 0.70], "ours": [0.9, 0.9, 0.9]}
CHOSEN = ["early", "late", "late"]  # the last is a tie; on the test part early is better there
CE = [0.52, 0.60, 0.55]
PLAN = Plan(
    configs=(),
    methods={"late": Variant(), "early": Variant(start="initial"), "ours": Variant()},
    regions=(REGION,),
    seeds=(0, 1, 2),
    warmup_epochs=1,
    epochs=1,
    baseline="ce",
    train_part=False,
    out=Path("out"),
    extra=(),
    best_of={"ce": ("late", "early")},
)


def outcomes(
    plan: Plan = PLAN, changed: Mapping[tuple[str, int], Outcome] | None = None
) -> dict[Run, Outcome]:
    made = {
        run: Outcome(TEST[run.method][run.seed], validation=VALIDATION[run.method][run.seed])
        for run in plan.runs
    }
    return made | {run: (changed or {}).get((run.method, run.seed), one) for run, one in made.items()}


def results(plan: Plan = PLAN, changed: Mapping[tuple[str, int], Outcome] | None = None) -> Results:
    return Results(plan, outcomes(plan, changed), {}, {})


def rows_of(found: Results) -> dict[tuple[str, str], dict[str, str]]:
    rows = list(csv.DictReader(io.StringIO(found.csv())))
    by_name = {(row["quantity"], row["method"]): row for row in rows}
    assert len(by_name) == len(rows)
    return by_name


def seeds_of(row: Mapping[str, str]) -> list[float | None]:
    return [float(value) if value else None for name, value in row.items() if name.startswith("seed_")]


def row(text: str, label: str) -> list[str]:
    """The cells of a row of a Markdown table."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {label} |")]
    return [re.sub(r"\*\*|</?u>", "", cell).strip() for cell in line.strip("|").split("|")]


# ---------------------------------------------------------------------- the choice and the tables


def test_the_largest_value_is_chosen_and_of_equals_the_first() -> None:
    assert best_on_validation({"a": 0.1, "b": 0.3, "c": 0.2}) == "b"
    assert best_on_validation({"a": 0.3, "b": 0.1, "c": 0.3}) == "a"
    assert best_on_validation({"a": 0.3, "b": None}) is None
    assert best_on_validation({"a": 0.0, "b": -0.1}) == "a"


def test_the_table_has_the_test_results_of_the_chosen_runs() -> None:
    text = results().markdown()
    lines = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")]
    assert lines == ["| method", "| late", "| early", "| ours", "| ce"]
    mean, deviation = statistics.mean(CE), statistics.stdev(CE)
    assert row(text, "ce")[1:] == [f"{mean:.4f} ± {deviation:.4f}", "-"]
    assert row(text, "ours")[2].startswith("+0.0967 [")  # .08, .10 and .11
    assert row(text, "late")[2].startswith("-0.0067 [")  # -.02, 0 and 0
    assert "ce is on each split the one of late and early that is best on the validation part." in text
    assert "ce was late in 2 and early in 1 of 3." in text
    latex = results().latex()
    assert rf"ce & \underline{{{mean:.4f} $\pm$ {deviation:.4f}}} & -- \\" in latex
    assert "ce was late in 2 and early in 1 of 3." in latex


def test_the_csv_names_the_chosen_methods_and_has_the_values_on_the_validation_part(tmp_path: Path) -> None:
    rows = rows_of(results())
    assert [quantity for quantity, _ in rows] == ["test_pauc"] * 4 + ["val_pauc"] * 4
    assert {name: found["chosen"] for name, found in rows.items() if found["chosen"]} == {
        ("test_pauc", "ce"): "early late late",
        ("val_pauc", "ce"): "early late late",
    }
    assert seeds_of(rows["test_pauc", "ce"]) == CE
    for method, values in {**VALIDATION, "ce": [0.72, 0.80, 0.70]}.items():
        found = rows["val_pauc", method]
        assert seeds_of(found) == values
        assert float(found["mean"]) == pytest.approx(np.mean(values))
        assert float(found["deviation"]) == pytest.approx(np.std(values, ddof=1))
        assert {found[name] for name in ("gain", "gain_deviation", "gain_low", "gain_high")} == {""}
    ours = rows["test_pauc", "ours"]
    assert ours["baseline"] == "ce"
    assert float(ours["gain"]) == pytest.approx((0.08 + 0.10 + 0.11) / 3)

    (tmp_path / "table.csv").write_text(results().csv())  # `pauc figure gains` draws the test part only
    gains = read_gains(tmp_path)
    assert {one.method: one.gain for one in gains.rows} == {
        "late": pytest.approx(-0.02 / 3),
        "early": pytest.approx(-0.01 / 3),
        "ours": pytest.approx(0.29 / 3),
        "ce": None,
    }


def test_marks_are_those_of_the_chosen_runs_and_runs_are_named_once() -> None:
    collapse = Collapse(7, "all scores are 1")
    changed = {
        ("early", 0): Outcome(0.52, collapse, validation=0.72),
        ("early", 1): Outcome(0.58, validation=0.79, is_start=True),  # not chosen
        ("late", 1): Outcome(0.60, validation=0.80, is_start=True),
    }
    text = results(changed=changed).markdown()
    assert row(text, "ce")[1].endswith("†")
    assert text.count("by step 7, all scores are 1.") == 1
    rows = rows_of(results(changed=changed))
    found = rows["test_pauc", "ce"]
    assert (found["collapsed_seeds"], found["start_seeds"], found["failed_seeds"]) == ("0", "1", "")
    starts = {
        (method, seed): Outcome(TEST[method][seed], validation=VALIDATION[method][seed], is_start=True)
        for method, seed in zip(CHOSEN, range(3), strict=True)
    }
    text = results(changed=starts).markdown()
    assert [row(text, label)[1][-1] == "°" for label in ("late", "early", "ce")] == [False, False, True]


def test_where_a_value_is_missing_nothing_is_chosen_and_the_table_says_why() -> None:
    changed = {
        ("early", 0): Outcome(0.52),  # of an earlier version
        ("late", 1): Outcome(failure="the disk is full."),
    }
    found = results(changed=changed)
    text = found.markdown()
    assert row(text, "ce")[1] == "0.5500 (1 of 3 seeds) §"
    assert row(text, "ours")[2] == "+0.1100 (1 of 3 seeds)"
    assert "§ Nothing can be chosen unless every method has a value on the validation part." in text
    assert "delete the directory of such a run" in text
    title = f"  - ce, {REGION.title}"
    assert f"{title}, seed 0: early has no recorded value on the validation part." in text
    assert f"{title}, seed 1: late failed." in text
    assert "ce was late in 1 and early in 0 of 1." in text
    assert r"\S{}" in found.latex()
    assert "§" not in found.latex()
    rows = rows_of(found)
    assert rows["test_pauc", "ce"]["chosen"] == "- - late"
    assert seeds_of(rows["test_pauc", "ce"]) == [None, None, 0.55]
    assert seeds_of(rows["val_pauc", "early"]) == [None, 0.79, 0.70]
    assert "§" not in results().markdown()


def test_a_choice_without_any_value_and_one_that_is_still_to_come() -> None:
    unknown = {
        (method, seed): Outcome(TEST[method][seed]) for method in ("late", "early") for seed in range(3)
    }
    text = results(changed=unknown).markdown()
    assert row(text, "ce")[1:] == ["no value §", "-"]
    assert row(text, "ours")[2] == "-"
    reason = "late and early have no recorded value on the validation part."
    assert f"  - ce, {REGION.title}, seeds 0, 1 and 2: {reason}" in text
    assert "ce was" not in text
    to_come = {(method, seed): Outcome() for method in ("late", "early") for seed in range(3)}
    assert row(results(changed=to_come).markdown(), "ce")[1:] == ["not run", "-"]


def test_the_live_table_chooses_once_all_are_done() -> None:
    board = Board(PLAN, PLAN.runs, {})
    for seed in (0, 1):
        run = Run("late", REGION, seed)
        board.start(run)
        board.finish(run, outcomes()[run])
    assert board.table(Task()).methods == ["late", "early", "ours", "ce"]
    assert board.table(Task()).result("ce", REGION) == ""
    run = Run("early", REGION, 0)
    board.start(run)
    board.finish(run, outcomes()[run])
    assert board.table(Task()).result("ce", REGION) == "0.5200 (1 of 3 seeds)"
    assert board.n_cells == 9


def test_one_seed_has_the_interval_of_the_chosen_runs() -> None:
    plan = replace(PLAN, seeds=(0,))
    asked = []

    def paired(run: Run, other: Run) -> Interval:
        asked.append((run.method, other.method))
        return Interval(-0.1, 0.2)

    text = replace(results(plan), paired=paired).markdown()
    assert row(text, "ours")[2] == "+0.0800 [-0.1000, +0.2000]"
    assert set(asked) == {("late", "early"), ("early", "early"), ("ours", "early")}


def test_values_on_the_training_part_are_those_of_the_chosen_runs() -> None:
    plan = replace(PLAN, train_part=True)
    on_train = {
        run: {
            "pauc": TEST[run.method][run.seed] + 0.1,
            "gap": 0.01 * run.seed + 0.1 * (run.method == "early"),
            "risk": 1.0,
        }
        for run in plan.runs
    }
    rows = rows_of(Results(plan, outcomes(plan), {}, on_train))
    assert seeds_of(rows["train_pauc", "ce"]) == pytest.approx([value + 0.1 for value in CE])
    assert seeds_of(rows["train_gap", "ce"]) == pytest.approx([0.1, 0.01, 0.02])
    assert rows["train_gap", "ce"]["chosen"] == "early late late"
    assert float(rows["train_pauc", "ours"]["gain"]) == pytest.approx(0.29 / 3)


def test_the_roc_curves_are_those_of_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[list[str]] = []

    def plot(panels: Mapping[Region, Mapping[str, Any]], title: str) -> Any:
        drawn.extend(list(panel) for panel in panels.values())
        return original(panels, title)

    original = plotting.plot_methods
    monkeypatch.setattr(plotting, "plot_methods", plot)
    plan = replace(PLAN, out=tmp_path)
    curve = RocCurve(*(np.array(rates) for rates in ([0.0, 0.5, 1.0], [0.0, 0.9, 1.0], [2.0, 1.0, 0.0])))
    Results(plan, outcomes(plan), dict.fromkeys(plan.runs, curve), {}).save()
    assert drawn == [["late", "early", "ours"]]


# ---------------------------------------------------------------------- the summary

MATRIX = replace(
    PLAN, data={"fraud": Variant(), "spam": Variant()}, backbones={"linear": Variant(), "mlp": Variant()}
)


def summary(plan: Plan, on_train: Mapping[Run, Mapping[str, float]] | None = None) -> str:
    text = Results(plan, outcomes(plan), {}, on_train or {}).summary()
    assert text is not None
    return text


def test_the_summary_shows_choices_instead_of_the_methods_they_are_made_among() -> None:
    text = summary(MATRIX)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert lines[0] == "| data | ce | its headroom | ours |"
    assert lines[2].startswith("| fraud, linear | 0.5567 | +0.000 | +0.097 [")
    assert "ce is on each split the one of late and early that is best on the validation part." in text
    assert "ce was late in 8 and early in 4 of 12." in text
    tables = results(MATRIX)._overview("test_pauc")
    assert {gain.method for gain in summary_gains(tables)} == {"ours"}


def test_a_baseline_that_others_are_chosen_from_stays_in_the_summary() -> None:
    text = summary(replace(MATRIX, baseline="late"))
    assert text.splitlines()[2] == "| data | late | its headroom | ours | ce |"
    none = {"a": ("late", "early"), "b": ("late", "ours")}
    text = summary(replace(MATRIX, baseline="b", best_of=none))
    assert text.splitlines()[2] == "| data | b | its headroom | a |"
    everything = {"all": ("late", "early", "ours")}  # nothing would be left beside it
    text = summary(replace(MATRIX, baseline="all", best_of=everything))
    assert text.splitlines()[2] == "| data | all | its headroom | late | early | ours |"


def test_headroom_and_gap_of_a_chosen_baseline() -> None:
    plan = replace(MATRIX, train_part=True)
    found = {
        run: replace(one, value=(one.value or 0) + 0.1 * (run.task.backbone == "mlp"))
        for run, one in outcomes(plan).items()
    }
    on_train = {
        run: {"pauc": 0.9, "risk": 1.0, "gap": 0.3 if run.method == "early" else 0.0} for run in plan.runs
    }
    text = Results(plan, found, {}, on_train).summary()
    assert text is not None
    assert "| fraud, linear | 0.5567 | +0.100 | +0.100 |" in text  # the gap is (0.3 + 0 + 0) / 3
    assert "| fraud, mlp | 0.6567 | +0.000 | +0.100 |" in text


def test_the_summary_explains_missing_choices() -> None:
    found = outcomes(MATRIX) | {
        Run("late", REGION, seed, Task("spam", "mlp")): Outcome(0.5) for seed in range(3)
    }
    text = Results(MATRIX, found, {}, {}).summary()
    assert text is not None
    assert "| spam, mlp | no value § | - | - |" in text
    assert "§ Nothing could be chosen; the table of each says why." in text


# ---------------------------------------------------------------------- what is asked for

FILE = """\
compare:
  methods: {ce_late: {config: ce}, ce_early: {config: ce, start: initial}, upauci: }
  best_of: {either: [ce_late, ce_early]}
  baseline: either
"""


def plan_of(*arguments: str, text: str = FILE) -> Plan:
    Path("mine.yaml").write_text(text)
    return parse(find_and_check(["-c", "digits", "-c", "mine.yaml", *arguments]))


def listed(plan: Plan) -> dict[str, list[str]]:
    return {label: list(methods) for label, methods in plan.best_of.items()}


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_here")
def test_the_file_or_the_command_line_says_what_is_chosen_from_what() -> None:
    plan = plan_of()
    assert (listed(plan), plan.baseline) == ({"either": ["ce_late", "ce_early"]}, "either")
    assert plan.labels == ["ce_late", "ce_early", "upauci", "either"]
    assert {run.method for run in plan.runs} == {"ce_late", "ce_early", "upauci"}
    plan = plan_of("--best_of", "a=upauci,ce_late", "b=ce_early,upauci", "--baseline", "b")
    assert listed(plan) == {"a": ["upauci", "ce_late"], "b": ["ce_early", "upauci"]}
    plan = plan_of("--best_of", "a=upauci,ce_late", "--best_of", "b=ce_early,upauci", "--baseline", "ce_late")
    assert list(plan.best_of) == ["a", "b"]


@pytest.mark.usefixtures("_here")
def test_without_a_method_its_choice_is_left_out() -> None:
    plan = plan_of("--methods", "ce_late", "upauci", "--baseline", "ce_late")
    assert (listed(plan), plan.baseline) == ({}, "ce_late")
    assert listed(plan_of("--methods", "ce_early", "ce_late")) == {"either": ["ce_late", "ce_early"]}
    with pytest.raises(InputError) as raised:
        plan_of("--methods", "ce_late", "upauci")
    assert str(raised.value) == (
        "`baseline: either`: it is chosen among ce_late ce_early, and --methods leaves out ce_early. Add it, or give "
        "another --baseline."
    )
    assert plan_of("--methods", "upauci").baseline == "upauci"  # alone, it is compared with nothing
    # Not the config of that name, which would be another method than the one that the file calls so.
    with pytest.raises(
        InputError, match=r"ce is also a method .* in --methods, name the methods to choose from"
    ):
        plan_of("--methods", "ce", "upauci", text=FILE.replace("either", "ce"))


@pytest.mark.parametrize(
    ("best_of", "arguments", "said"),
    [
        ("[ce_late, ce_early]", "", "give labels, each with a list of names"),
        ("{either: ce_late}", "", "give labels, each with a list of names"),
        ("{either: [1, 2]}", "", "give names"),
        ("{1: [ce_late, ce_early]}", "", "give names"),
        (
            "{either: [ce_late]}",
            "",
            "`best_of: {either: [ce_late]}`: there is nothing to choose. Give at least two",
        ),
        ("{either: []}", "", "there is nothing to choose"),
        ("{either: [ce_late, ce_late]}", "", "ce_late is given twice. Give it once."),
        (
            "{either: [ce_late, ce_erly]}",
            "",
            "ce_erly is not among --methods ce_late ce_early upauci: add it.",
        ),
        ("{either: [ce_late, ce_erly]}", "", "Did you mean `ce_early`?"),
        ("{either: [ce_late, ce_erly]}", "--methods ce_late upauci", "ce_erly is not among"),
        (
            "{upauci: [ce_late, ce_early]}",
            "",
            "upauci is also a method of the comparison. Give one of them another label",
        ),
        ("{a b: [ce_late, ce_early]}", "", "a label has letters, digits"),
        ("{a: [ce_late, ce_early], b: [a, upauci]}", "", "a is not among --methods"),
        (
            "{a: [ce_late, ce_early]}",
            "",
            "`baseline: either` is not among --methods ce_late ce_early upauci: add it.",
        ),
        ("{eithr: [ce_late, ce_early]}", "", "Did you mean `eithr`?"),
        (
            "{}",
            "--best_of either",
            "`--best_of either`: write LABEL=METHOD,METHOD, such as ce=ce_late,ce_early.",
        ),
        ("{}", "--best_of =ce_late,ce_early", "write LABEL=METHOD,METHOD"),
        ("{}", "--best_of either=ce_late,", "an empty name is not among --methods"),
        (
            "{}",
            "--best_of either=ce_late,ce_erly",
            "`--best_of either=ce_late,ce_erly`: ce_erly is not among",
        ),
        ("{}", "--best_of x=ce_late,ce_early x=ce_late,upauci", "x is given twice. Give it once."),
        ("{}", "--best_of upauci=ce_late,ce_early", "upauci is also a method of the comparison"),
        ("{}", "--best_off x=ce_late,ce_early", "Did you mean `--best_of`?"),
    ],
)
@pytest.mark.usefixtures("_here")
def test_a_mistake_gets_a_sentence(best_of: str, arguments: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        plan_of(*arguments.split(), text=FILE.replace("{either: [ce_late, ce_early]}", best_of))
    assert said in str(raised.value)


def test_either_start_compares_each_method_from_its_better_start() -> None:
    plan = parse(find_and_check(["-c", "either_start"]))
    names = ("ce", "partial_auc", "upauci")
    assert listed(plan) == {name: [f"{name}_late", f"{name}_early"] for name in names}
    assert plan.baseline == "ce"
    assert {method: one.start for method, one in plan.methods.items()} == {
        f"{name}_{when}": start
        for name in names
        for when, start in (("late", "warmup"), ("early", "initial"))
    }


# ---------------------------------------------------------------------- on a directory


def test_choices_on_a_finished_directory_train_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Against the validations that the runs logged and their test results."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pauc"])
    monkeypatch.setattr(comparison, "n_cores", lambda: 1)
    out = Path("runs/compare")
    written = ("table.md", "table.tex", "table.csv")

    def compare(*arguments: str) -> str:
        main(
            [
                *("compare", "-c", "digits", "--model.backbone=LinearScorer", "--trainer.accelerator=cpu"),
                *("--warmup_epochs", "1", "--epochs", "2", "--seeds", "0", "1", "--methods", "late", "early"),
                *("--for", "late", "config=ce", "--for", "early", "config=ce", "start=initial", *arguments),
            ]
        )
        return capsys.readouterr().out

    def state() -> dict[Path, int]:
        return {
            path: path.stat().st_mtime_ns
            for path in out.rglob("*")
            if path.is_file() and path.name not in (*written, "roc.png", ".lock")
        }

    def folder(method: str, seed: int) -> Path:
        return out / f"{method}-opauc_fpr0.3-seed{seed}/version_0"

    def validated(method: str, seed: int) -> float:
        with (folder(method, seed) / "metrics.csv").open() as file:
            return max(float(row["val/pauc"]) for row in csv.DictReader(file) if row["val/pauc"])

    assert "[6/6]" in compare()
    plain, before = [(out / name).read_text() for name in written], state()
    assert before
    said = compare("--best_of", "ce=late,early", "--baseline", "ce")
    assert "[1/" not in said
    assert state() == before
    with (out / "table.csv").open() as file:
        rows = {(row["quantity"], row["method"]): row for row in csv.DictReader(file)}
    values = {(method, seed): validated(method, seed) for method in ("late", "early") for seed in (0, 1)}
    assert len(set(values.values())) == 4
    chosen = ["late" if values["late", seed] >= values["early", seed] else "early" for seed in (0, 1)]
    assert rows["test_pauc", "ce"]["chosen"].split() == chosen
    tested = [
        json.loads((folder(of, seed) / "test_metrics.json").read_text())["pauc"]
        for seed, of in enumerate(chosen)
    ]
    assert seeds_of(rows["test_pauc", "ce"]) == tested
    for method in ("late", "early"):
        assert seeds_of(rows["val_pauc", method]) == pytest.approx([values[method, seed] for seed in (0, 1)])
    compare("--best_of", "ce=early,late", "other=late,early", "--baseline", "late")
    assert state() == before
    compare()
    assert [(out / name).read_text() for name in written] == plain
    assert state() == before

    # A run of an earlier version: nothing is guessed, and what the footnote advises brings the value back.
    record = folder("early", 1) / "fit.json"
    content = json.loads(record.read_text())
    del content["best_value"]
    record.write_text(json.dumps(content))
    said = compare("--best_of", "ce=late,early")
    assert f"  - ce, {REGION.title}, seed 1: early has no recorded value on the validation part." in said
    assert row(said, "ce")[1] == f"{tested[0]:.4f} (1 of 2 seeds) §"
    for path in sorted(folder("early", 1).parent.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    said = compare("--best_of", "ce=late,early")
    assert "[1/1] early" in said
    assert "§" not in said
    assert row(said, "ce")[1].startswith(f"{statistics.mean(tested):.4f} ±")
