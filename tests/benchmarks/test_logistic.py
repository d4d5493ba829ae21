"""`pauc benchmark logistic` fits the same parts as the comparison, and says what is missing."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pauc_lightning.benchmarks.logistic import (
    Row,
    chosen_value,
    fits,
    is_linear,
    parts_of,
    read_rows,
    report,
    run_of,
)
from pauc_lightning.cli import main
from pauc_lightning.data import TabularLT
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.region import Region
from pauc_lightning.run_directory import RunDirectory


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logistic")
    random = np.random.default_rng(0)
    labels = (random.random(1200) < 0.2).astype(int)
    inputs = random.normal(size=(1200, 3)) + labels[:, None]
    table = folder / "table.csv"
    rows = np.column_stack([inputs, labels])
    np.savetxt(table, rows, delimiter=",", header="a,b,c,label", comments="", fmt="%.6g")
    main(
        [
            *("compare", "-c", "tabular", f"--data.path={table}", "--data.label=label"),
            *("--model.backbone=LinearScorer", "--methods", "ce", "mb", "--regions", "0.2", "0.5,0.5"),
            *("--seeds", "0", "1", "--warmup_epochs", "1", "--epochs", "1", "--out", str(folder / "runs")),
        ]
    )
    return folder


def test_the_parts_are_those_of_the_comparison_and_the_validation_part_chooses(comparison: Path) -> None:
    one_way, two_way = read_rows(comparison / "runs")
    assert one_way.seeds == [0, 1]
    parts = parts_of(run_of(comparison / "runs", one_way, 1))
    data = TabularLT(str(comparison / "table.csv"), label="label", seed=1)
    data.setup("fit")
    data.setup("test")
    rows = {name: getattr(data.split, name) for name in ("train", "val", "test")}
    for name, part in (("train", parts.train), ("val", parts.validation), ("test", parts.test)):
        own = np.column_stack([data.inputs[rows[name]].numpy(), data.targets[rows[name]]])
        found = np.column_stack([part.inputs, part.labels])
        np.testing.assert_array_equal(found[np.lexsort(found.T)], own[np.lexsort(own.T)])
    # By hand: the best of all on the validation part, and its value on the test part.
    candidates = []
    for c in (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0):
        for weight in (None, "balanced"):
            model = LogisticRegression(C=c, class_weight=weight, max_iter=300)
            model.fit(data.inputs[np.sort(rows["train"])].numpy(), data.targets[np.sort(rows["train"])])
            values = [
                float(
                    binary_partial_auc(
                        model.decision_function(data.inputs[rows[part]].numpy()),
                        data.targets[rows[part]],
                        max_fpr=0.5,
                        min_tpr=0.5,
                    )
                )
                for part in ("val", "test")
            ]
            candidates.append(values)
    best = max(candidates, key=lambda values: values[0])
    assert chosen_value(parts, list(fits(parts)), two_way.region) == pytest.approx(best[1], abs=1e-6)


def test_the_command_prints_the_difference_to_it(
    comparison: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    main(["benchmark", "logistic", str(comparison / "runs")])
    said = capsys.readouterr().out
    row = read_rows(comparison / "runs")[0]
    values = [
        chosen_value(parts, list(fits(parts)), row.region)
        for parts in (parts_of(run_of(comparison / "runs", row, seed)) for seed in (0, 1))
    ]
    difference = np.mean([row.values["mb"][seed] - values[seed] for seed in (0, 1)])
    (line,) = (
        line for line in said.splitlines() if line.startswith("| - |") and f"{np.mean(values):.4f}" in line
    )
    assert line.split(" | ")[3].startswith(f"{difference:+.3f} [")
    assert (comparison / "runs/logistic.md").read_text().strip() in said


def test_a_constant_difference_is_ahead(comparison: Path) -> None:
    (row, _) = read_rows(comparison / "runs")
    values = {("", row.region, seed): row.values["ce"][seed] - 0.1 - 0.001 * seed for seed in (0, 1)}
    text = report([row], values, {"": 0.25})
    assert "+0.100 [" in text or "+0.101 [" in text
    assert "] ▲ |" in text


def test_a_large_test_part_widens_the_intervals(
    comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """200 rows to train on and 800 to test. For two seeds, Student's quantile is tan(0.475 π)."""
    table, split = comparison / "table.csv", tmp_path / "split.json"
    data = TabularLT(str(table), label="label")
    data.setup("fit")
    data.export_split(str(split))
    content = json.loads(split.read_text())
    parts = np.split(np.random.default_rng(0).permutation(1200), [200, 400])
    rows = {name: sorted(part.tolist()) for name, part in zip(("train", "val", "test"), parts, strict=True)}
    split.write_text(json.dumps({**content, **rows}))
    main(
        [
            *("compare", "-c", "tabular", f"--data.path={table}", "--data.label=label"),
            *(f"--data.split_file={split}", "--model.backbone=LinearScorer", "--methods", "ce"),
            *("--seeds", "0", "1", "--warmup_epochs", "0", "--epochs", "1", "--out", str(tmp_path / "runs")),
        ]
    )
    capsys.readouterr()
    main(["benchmark", "logistic", str(tmp_path / "runs")])
    (row,) = read_rows(tmp_path / "runs")
    logistic = parts_of(run_of(tmp_path / "runs", row, 0))
    assert [len(part.labels) for part in (logistic.train, logistic.test)] == [200, 800]
    other = chosen_value(logistic, list(fits(logistic)), row.region)
    one, two = (row.values["ce"][seed] - other for seed in (0, 1))
    half = np.tan(0.475 * np.pi) * np.sqrt((1 / 2 + 800 / 200) * (one - two) ** 2 / 2)
    mean = (one + two) / 2
    assert f" | {mean:+.3f} [{mean - half:+.3f}, {mean + half:+.3f}]" in capsys.readouterr().out


def test_a_directory_that_is_no_comparison_or_has_no_linear_scorer_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(folder: Path) -> str:
        with pytest.raises(SystemExit):
            main(["benchmark", "logistic", str(folder)])
        return capsys.readouterr().err

    assert "is not a finished comparison: it has no table.csv" in refused(tmp_path / "nothing")
    main(
        [
            *("compare", "-c", "digits", "--methods", "ce", "--regions", "0.3", "--seeds", "0"),
            *("--warmup_epochs", "0", "--epochs", "1", "--out", str(tmp_path / "mlp")),
        ]
    )
    assert "has no linear scorer" in refused(tmp_path / "mlp")


def refusal(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["benchmark", "logistic", str(folder)])
    return capsys.readouterr().err


def test_data_that_changed_since_are_refused(comparison: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = comparison / "table.csv"
    before = table.read_text()
    try:
        table.write_text("".join(before.splitlines(keepends=True)[:900]))
        assert f"{table} has changed since" in refusal(comparison / "runs", capsys)
        table.unlink()
        assert f"the data in {table}, which is not there" in refusal(comparison / "runs", capsys)
    finally:
        table.write_text(before)


def test_results_without_a_counterpart_are_left_out_and_named(
    comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(comparison / "runs", tmp_path / "runs")
    table = tmp_path / "runs/table.csv"
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))

    def write(lost: set[tuple[str, str]]) -> None:
        with table.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows({**row, **{name: "" for m, name in lost if row["method"] == m}} for row in rows)

    write({("ce", "seed_1")})
    main(["benchmark", "logistic", str(tmp_path / "runs")])
    said = capsys.readouterr().out
    assert "no result for the seed: OPAUC (FPR ≤ 0.2), mb, seed 1; TPAUC" in said
    assert "mb, seed 0" not in said
    write({("ce", "seed_1"), ("mb", "seed_0")})
    assert "no seed for which every method has a result" in refusal(tmp_path / "runs", capsys)
    table.write_text("a,b\n")
    assert "is not the table of a comparison" in refusal(tmp_path / "runs", capsys)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            ",0.2,0.0,",
            ",,0.0,",
            "table.csv, line 2 is damaged (could not convert string to float: ''): type the",
        ),
        (",0.2,0.0,", ",7,0.0,", "table.csv, line 2 is damaged"),
        (",seed_1,", ",seed_one,", "table.csv, line 2 is damaged"),
        (",mb,", ",other,", "does not have the same methods everywhere"),
        (",mb,", ",\x00\udcff,", "table.csv is damaged"),
        (",mb,0.2", ",mb", "table.csv, line 3 is damaged"),
    ],
)
def test_a_damaged_table_is_named_with_its_line(
    before: str, after: str, said: str, comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(comparison / "runs", tmp_path / "runs")
    table = tmp_path / "runs/table.csv"
    text = table.read_text().replace(before, after, 1)
    table.write_bytes(text.encode(errors="surrogateescape"))
    assert said in refusal(tmp_path / "runs", capsys)


def test_a_table_that_ends_too_early_or_a_damaged_note_is_named(
    comparison: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(comparison / "runs", tmp_path / "runs")
    table, note = tmp_path / "runs/table.csv", tmp_path / "runs/comparison.json"
    text = table.read_text()
    table.write_text(text[: text.index(",mb,") + len(",mb,")])
    assert "table.csv, line 3 is damaged" in refusal(tmp_path / "runs", capsys)
    table.write_text(text)
    note.write_text("{")
    said = refusal(tmp_path / "runs", capsys)
    assert f"{note} is damaged" in said
    assert "restore it, or compare again with another --out" in said


def test_a_class_whose_name_ends_in_linear_scorer_is_another(comparison: Path, tmp_path: Path) -> None:
    (row, _) = read_rows(comparison / "runs")
    run = run_of(comparison / "runs", row, 0)
    assert is_linear(run)
    settings = run.config.read_text()
    (tmp_path / "config.yaml").write_text(
        settings.replace("pauc_lightning.models.LinearScorer", "mine.NonLinearScorer")
    )
    assert not is_linear(RunDirectory(tmp_path))


def test_linear_backbones_of_the_same_data_are_told_apart() -> None:
    region = Region(0.3)
    rows = [Row("a", backbone, region, {"ce": {0: 0.5}}) for backbone in ("plain", "wide")]
    text = report(
        [*rows, Row("b", "plain", region, {"ce": {0: 0.5}})],
        {(d, region, 0): 0.4 for d in "ab"},
        dict.fromkeys("ab", 0.25),
    )
    assert [line.split(" | ")[0] for line in text.splitlines()[4:7]] == ["| a, plain", "| a, wide", "| b"]
