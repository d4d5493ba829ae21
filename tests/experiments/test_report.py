"""What the results of a comparison hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pauc_lightning.experiments.cells import Run, Task
from pauc_lightning.experiments.outcome import Outcome
from pauc_lightning.experiments.paper import published
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.report import Results
from pauc_lightning.experiments.variant import Variant
from pauc_lightning.region import Region

REGION = Region(0.3)
PLAN = Plan(
    configs=("configs/data/cifar10_lt_1.yaml",),
    methods={"ce": Variant(), "upauci": Variant(), "mine": Variant()},
    regions=(REGION,),
    seeds=(0,),
    warmup_epochs=0,
    epochs=1,
    baseline="ce",
    train_part=False,
    out=Path("out"),
    extra=(),
)


def results(plan: Plan) -> Results:
    return Results(plan, {run: Outcome(0.5) for run in plan.runs}, {}, {}, published=published)


def test_the_papers_values_stand_beside_ours() -> None:
    expected = published("cifar10_lt_1", "upauci", REGION)
    assert expected is not None
    lines = results(PLAN).markdown().splitlines()
    assert lines[0].endswith("| paper |")
    assert [line.split("|")[-2].strip() for line in lines[2:5]] == [
        f"{published('cifar10_lt_1', 'ce', REGION):.4f}",
        f"{expected:.4f}",
        "-",
    ]
    assert "paper" in results(replace(PLAN, extra=("--data.root=here", "--data.batch_size", "64"))).markdown()


@pytest.mark.parametrize(
    "plan",
    [
        replace(PLAN, extra=("--data.imbalance_ratio=0.5",)),
        replace(PLAN, extra=("--data.positive_classes", "[3]")),
        replace(PLAN, configs=("configs/data/digits.yaml",)),
        replace(PLAN, configs=(), data={"cifar10_lt_1": Variant(options=("--data=Mine",))}),
    ],
)
def test_other_data_get_no_value_of_the_paper(plan: Plan) -> None:
    assert "paper" not in results(plan).markdown()


def test_every_data_set_gets_its_own_table_and_values() -> None:
    names = ("cifar10_lt_1", "cifar10_lt_2")
    plan = replace(PLAN, configs=(), data={name: Variant((f"configs/data/{name}.yaml",)) for name in names})
    sections = list(results(plan).sections())
    assert [section.heading for section in sections] == [f"{name}:" for name in names]
    for name, section in zip(names, sections, strict=True):
        assert section.table.published == {
            (method, REGION): published(name, method, REGION) for method in ("ce", "upauci")
        }


def test_sentences_of_the_legend_are_said_once() -> None:
    plan = replace(PLAN, configs=(), seeds=(0, 1), data={"a": Variant(), "b": Variant()})
    text = results(plan).markdown()
    assert text.count("Mean ± standard deviation over 2 seeds.") == 1
    assert results(plan).latex().count("standard deviation over 2 seeds.") == 2  # each is used alone


def test_the_ratio_of_the_parts_belongs_to_the_task() -> None:
    plan = replace(PLAN, configs=(), seeds=(0, 1), data={"a": Variant(), "b": Variant()})
    values = {run: Outcome(0.5 + 0.1 * run.seed * (run.method == "upauci")) for run in plan.runs}
    ratios = {Task("a"): 0.5, Task("b"): 2.0 - 0.5}
    tables = {s.table.task.data: s.table for s in Results(plan, values, {}, {}, (), ratios).sections()}
    widths = []
    for table in tables.values():
        interval = table.interval("upauci", REGION)
        assert interval is not None
        widths.append(interval.high - interval.low)
    assert widths[1] / widths[0] == pytest.approx((0.5 + 1.5) ** 0.5 / (0.5 + 0.5) ** 0.5)
    assert Run("upauci", REGION, 1, Task("a")) in values
