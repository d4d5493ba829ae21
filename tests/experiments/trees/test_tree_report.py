"""The report's numbers follow from the results."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import pytest

from pauc_lightning.experiments.interval import corrected_interval
from pauc_lightning.experiments.trees.report import as_markdown, summary, times, write_csv
from pauc_lightning.experiments.trees.search import Method, Settings
from pauc_lightning.experiments.trees.study import Cell, Chosen, Result

SETTINGS = Settings(0.1, 31, 1.0, 1.0, 1.0, 1.0, {"max_fpr": 0.05, "surrogate": "logistic", "ce_weight": 0.5})


def result(method: Method, seed: int, validation: float, test: float) -> Result:
    chosen = (Chosen(0.05, validation, test, 10, SETTINGS),)
    return Result(Cell("t", "xgboost", method, seed), "0", chosen, 2, 1.0)


RESULTS = [
    result("log_loss", 0, 0.5, 0.40),
    result("log_loss", 1, 0.5, 0.42),
    result("ranking", 0, 0.6, 0.44),  # the best other on the first split, by validation
    result("ranking", 1, 0.4, 0.60),
    result("partial_auc", 0, 0.7, 0.50),
    result("partial_auc", 1, 0.7, 0.54),
]


def test_means_and_paired_differences() -> None:
    lines = as_markdown(RESULTS, [0.05]).splitlines()
    assert lines[0] == "OPAUC (FPR ≤ 0.05):"
    names = "table | library | log-loss | ranking | partial AUC"
    assert lines[2] == f"| {names} | partial AUC − log-loss | partial AUC − best other |"
    interval = corrected_interval([0.10, 0.12])
    assert interval is not None
    cells = [cell.strip() for cell in lines[4].strip("|").split("|")]
    assert cells[:5] == ["t", "xgboost", "0.410", "**0.520**", "**0.520**"]
    assert cells[5] == f"+0.110 [{interval.low:+.3f}, {interval.high:+.3f}]"
    assert cells[6].startswith("+0.090 [")  # (0.50 − 0.44 + 0.54 − 0.42) / 2


def test_an_interval_without_zero_is_marked_and_counted() -> None:
    results = [result("log_loss", s, 0.5, 0.4) for s in range(3)]
    results += [result("partial_auc", s, 0.5, 0.5 + 0.001 * s) for s in range(3)]
    assert "**+0.101 [" in as_markdown(results, [0.05])
    said = summary(results, [0.05])
    assert "ahead of log-loss in 1 and behind in 0" in said
    assert "the mean difference is +0.101" in said


def test_one_split_has_no_interval() -> None:
    text = as_markdown([RESULTS[0], RESULTS[4]], [0.05])
    assert text.splitlines()[4] == "| t | xgboost | 0.400 | **0.500** | +0.100 |"
    assert "in 0 and behind in 0" in summary([RESULTS[0], RESULTS[4]], [0.05])


def test_the_summary_tells_what_was_chosen() -> None:
    said = summary(RESULTS, [0.05])
    assert "log-loss weighed 0.5 in 2" in said
    assert summary(RESULTS[:4], [0.05]) == ""


def test_times_are_relative_to_log_loss() -> None:
    slow = dataclasses.replace(RESULTS[4], seconds=6.0, trainings=4)
    assert times([RESULTS[0], slow]) == "A training takes 0.50 s with log-loss, 3.0 times with partial AUC."
    assert times(RESULTS[2:]) == ""


def test_the_csv_file_has_a_line_for_each_choice(tmp_path: Path) -> None:
    write_csv(tmp_path / "r.csv", RESULTS)
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["test"]) for row in rows] == pytest.approx([0.4, 0.42, 0.44, 0.6, 0.5, 0.54])
    assert "leaves=31" in rows[0]["settings"]
    assert "ce_weight=0.5" in rows[0]["settings"]
