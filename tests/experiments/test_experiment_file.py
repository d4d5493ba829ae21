"""What an experiment's file and the options of ``pauc compare`` ask for, before anything is trained."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from pauc_lightning.cli.configs import find_and_check
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.cells import Cell, Run, Task, WarmUp
from pauc_lightning.experiments.commands import fit_arguments
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.request import parse
from pauc_lightning.region import Region

EXPERIMENT = """\
# An experiment.
data: {class_path: DigitsLT}
compare:
  data:
    digits:
    rows: {config: tabular, data.path: rows.csv, data.label: y}
    mine: {class_path: my.Data, init_args: {size: 3}}
  backbones:
    linear: LinearScorer
    small: {class_path: MLPScorer, init_args: {hidden: [7]}}
  methods:
    ce:
    upauci: {model.descent_lr: 0.1, model: {init_args: {omega: 1.0e-05}}}
    slow: {config: upauci, model.descent_lr: 0.005}
  warmup: {model.learning_rate: 0.2}
  regions: [0.3, "0.3,0.7"]
  seeds: [0, 1]
  warmup_epochs: 3
  epochs: 5
  baseline: upauci
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(EXPERIMENT)


def plan_of(*arguments: str, text: str | None = None) -> Plan:
    if text is not None:
        Path("mine.yaml").write_text(text)
    return parse(find_and_check(["-c", "mine.yaml", *arguments]))


def stems(arguments: list[str]) -> list[str]:
    return [Path(value).stem for option, value in itertools.pairwise(arguments) if option == "-c"]


def test_every_combination_is_a_run_and_warm_ups_are_shared() -> None:
    plan = plan_of()
    assert (
        len(plan.runs) == len(set(plan.runs)) == 3 * 2 * 3 * 2 * 2
    )  # data, backbones, methods, regions, seeds
    assert len(plan.warm_ups) == 3 * 2 * 2  # data, backbones, seeds
    assert {run.warm_up for run in plan.runs} == set(plan.warm_ups)
    cells: list[Cell] = [*plan.warm_ups, *plan.runs]
    assert len({cell.folder for cell in cells}) == 72 + 12
    run = Run("slow", Region(0.3), 1, Task("rows", "small"))
    assert run in plan.runs
    assert run.folder == Path("rows/small/slow-opauc_fpr0.3-seed1")
    assert (plan.warmup_epochs, plan.epochs, plan.baseline, plan.out) == (3, 5, "upauci", Path("runs/mine"))


def test_options_reach_their_method_only() -> None:
    plan = plan_of()
    task = Task("digits", "linear")
    of_method = {
        method: fit_arguments(plan, Run(method, Region(0.3), 0, task), None, Path("common.yaml"))
        for method in plan.methods
    }
    steps = {
        method: [option for option in arguments if "descent_lr" in option]
        for method, arguments in of_method.items()
    }
    assert steps == {"ce": [], "upauci": ["--model.descent_lr=0.1"], "slow": ["--model.descent_lr=0.005"]}
    assert "--model.init_args.omega=1.0e-05" in of_method["upauci"]
    assert not any("omega" in option for option in of_method["slow"])
    assert stems(of_method["slow"]) == ["common", "digits", "upauci"]
    assert all("--model.backbone=LinearScorer" in arguments for arguments in of_method.values())
    warm_up = fit_arguments(plan, WarmUp(0, task), None, Path("common.yaml"))
    assert "--model.learning_rate=0.2" in warm_up
    assert stems(warm_up) == ["common", "digits", "ce"]
    assert not any("learning_rate" in option for option in of_method["ce"])


def test_a_single_letter_is_an_option_of_its_own_and_not_the_beginning_of_another() -> None:
    text = "compare: {methods: {ce: null, slow: {config: upauci, model.m: 500, model.k: 1}}, seeds: [0]}\n"
    plan = plan_of("--for", "slow", "model.m=700", text=text)
    arguments = fit_arguments(plan, Run("slow", Region(0.3), 0, plan.tasks[0]), None, None)
    assert [option for option in arguments if option.startswith("--model.m=")] == [
        "--model.m=500",
        "--model.m=700",
    ]


def test_data_sets_and_backbones_may_be_configs_classes_or_options() -> None:
    plan = plan_of()
    rows = fit_arguments(plan, WarmUp(0, Task("rows", "small")), None, None)
    assert stems(rows) == ["tabular", "ce"]
    assert {"--data.path=rows.csv", "--data.label=y"} <= set(rows)
    assert "--model.backbone={class_path: MLPScorer, init_args: {hidden: [7]}}" in rows
    mine = fit_arguments(plan, WarmUp(0, Task("mine", "linear")), None, None)
    assert "--data={class_path: my.Data, init_args: {size: 3}}" in mine


def test_the_command_line_wins_over_the_file_and_what_is_for_one_method_over_what_is_for_all() -> None:
    plan = plan_of(
        *(
            "--methods",
            "slow",
            "pauci",
            "--seeds",
            "7",
            "--regions",
            "0.5",
            "--epochs",
            "1",
            "--baseline",
            "pauci",
        ),
        *("--data_sets", "digits", "--backbones", "small", "SmallCNN", "--out", "there", "--threads", "2"),
        *("--model.descent_lr=0.3", "--for", "slow", "model.descent_lr=0.4", "model.omega=1"),
    )
    assert list(plan.methods) == ["slow", "pauci"]
    assert (plan.seeds, plan.regions, plan.epochs, plan.warmup_epochs) == ((7,), (Region(0.5),), 1, 3)
    assert (plan.baseline, plan.out, plan.threads) == ("pauci", Path("there"), 2)
    assert plan.tasks == [Task("digits", "small"), Task("digits", "SmallCNN")]
    slow = fit_arguments(plan, Run("slow", Region(0.5), 7, plan.tasks[0]), None, None)
    steps = [option for option in slow if "descent_lr" in option]
    assert steps == [
        "--model.descent_lr=0.005",
        "--model.descent_lr=0.3",
        "--model.descent_lr=0.4",
    ]  # the last counts
    assert "--model.omega=1" in slow
    other = fit_arguments(plan, Run("pauci", Region(0.5), 7, plan.tasks[1]), None, None)
    assert "--model.descent_lr=0.3" in other
    assert not {"--model.descent_lr=0.4", "--model.omega=1"} & set(other)
    assert "--model.backbone=SmallCNN" in other


def test_without_a_file_there_are_no_more_axes_and_directories_stay_as_they_were() -> None:
    plan = parse(find_and_check(["-c", "digits", "--methods", "ce", "--seeds", "0"]))
    cells: list[Cell] = [*plan.warm_ups, *plan.runs]
    assert [cell.folder for cell in cells] == [
        Path("warmup-seed0"),
        Path("ce-opauc_fpr0.3-seed0"),
    ]
    assert plan.out == Path("runs/compare")
    assert (plan.executor, plan.processes, plan.threads) == ("process", 1, 1)


def test_processes_choose_the_executor() -> None:
    assert (plan := plan_of("--processes", "3")).executor == "processes"
    assert plan.processes == 3
    assert plan_of("--processes", "1").executor == "process"
    assert plan_of("--executor", "ray", "--processes", "4").executor == "ray"


SECTION = "compare: {methods: [ce, upauci], seeds: [0]}\n"


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (
            "compare: {method: [ce]}",
            "",
            "`compare: method` in mine.yaml does not exist. Did you mean `methods`?",
        ),
        ("compare: [ce]", "", "`compare:` in mine.yaml must hold settings"),
        ("compare:", "", "`compare:` in mine.yaml must hold settings"),
        ("compare: {methods: ce}", "", "give a list of names, or names with their options"),
        ("compare: {methods: [ce, ce]}", "", "names ce twice"),
        ("compare: {methods: [1, 2]}", "", "give names (quote those"),
        ("compare: {methods: [upauc]}", "", "no such method. Did you mean `upauci`?"),
        ("compare: {methods: {a: {config: upauc}}}", "", "no such method. Did you mean `upauci`?"),
        ("compare: {methods: {ce: 0.1}}", "", "`ce: 0.1`: give its options"),
        ("compare: {methods: {ce: {model.max_fpr: 0.1}}}", "", "`--model.max_fpr` for ce cannot be given"),
        ("compare: {methods: {ce: {model: {max_fpr: 0.1}}}}", "", "give --regions instead"),
        ("compare: {methods: {warmup: {config: ce}}}", "", "the name of the common warm-up"),
        ("compare: {methods: {a b: {config: ce}}}", "", "a label names a directory"),
        ("compare: {data: {a/b: {config: digits}}}", "", "a label names a directory"),
        ("compare: {data: [digts]}", "", "Did you mean `digits`?"),
        ("compare: {seeds: [a]}", "", "`seeds: a`: give a whole number"),
        ("compare: {seeds: [[0]]}", "", "give a list such as"),
        ("compare: {seeds: [true]}", "", "give a list such as"),
        ("compare: {seeds: {a: 1}}", "", "give a list"),
        ("compare: {regions: [low]}", "", "`regions: low`: write max_fpr"),
        ("compare: {epochs: many}", "", "`epochs: many`: give a whole number"),
        ("compare: {epochs: [1]}", "", "give a single value"),
        ("compare: {train_part: 3}", "", "give true or false"),
        ("compare: {baseline: pauc}", "", "`baseline: pauc` is not among --methods ce pauci upauci"),
        (SECTION, "--for", "`--for` needs a value"),
        (SECTION, "--for upauc model.omega=1", "no such method. Did you mean `upauci`?"),
        (SECTION, "--for upauci", "`--for upauci` needs options"),
        (SECTION, "--for upauci model.omega", "write `--for upauci name=value`, not `model.omega`"),
        (SECTION, "--for upauci model.max_fpr=1", "`--model.max_fpr` for upauci cannot be given"),
        (SECTION, "--for upauci model.max_f=1", "`--model.max_f` for upauci cannot be given"),
        (SECTION, "--for upauci config=pauci", "is given in a file"),
        (SECTION, "--backbones LinearScorer --model.backbone=SmallCNN", "give --backbones"),
        (SECTION, "--data_sets digits --data=DigitsLT", "give --data_sets"),
        (SECTION, "--processes 0", "`--processes 0`: give a whole number that is at least 1"),
        (SECTION, "--processes 2 --executor process", "trains one run at a time"),
        (SECTION, "--executor rai", "Did you mean `ray`?"),
        (SECTION, "--threads 0", "`--threads 0`: give a whole number that is at least 1"),
        (SECTION, "-c other.yaml", "mine.yaml and other.yaml both describe a comparison"),
    ],
)
def test_a_mistake_gets_a_sentence(text: str, arguments: str, said: str) -> None:
    Path("other.yaml").write_text(SECTION)
    with pytest.raises(InputError) as raised:
        plan_of(*arguments.split(), text=text)
    assert said in str(raised.value)
