"""The page on the paper compares its gains with ours: computed again from its tables and from our comparison."""

from __future__ import annotations

import csv
import re
import statistics
from pathlib import Path

from scipy.stats import spearmanr

from pauc_lightning.experiments.paper import published_result
from pauc_lightning.region import Region

DOCS = Path(__file__).parents[2] / "docs"
DATA = {
    "birds": "cifar10_lt_1",
    "automobiles": "cifar10_lt_2",
    "cats": "cifar10_lt_3",
    "insects": "cifar100_lt_1",
    "fruits": "cifar100_lt_2",
    "large": "cifar100_lt_3",
}
METHODS = ("auc_m", "mb", "sopa", "sopa_s", "agd_sbcd", "pauci", "upauci")
REGION = Region(0.3)


def published(method: str, data: str) -> float:
    found = published_result(DATA[data], method, REGION)
    assert found is not None
    return found.mean


def test_the_gains_beside_the_papers() -> None:
    with (DOCS / "tables/all_methods_features.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["quantity"] == "test_pauc"]
    ours = {(row["method"], row["data"]): row for row in rows if float(row["max_fpr"]) == REGION.max_fpr}
    assert {data for _, data in ours} == set(DATA)
    expected: dict[str, list[str]] = {}
    means: dict[str, tuple[float, float]] = {}
    for method in METHODS:
        theirs = statistics.mean(published(method, data) - published("ce", data) for data in DATA)
        gains = {data: float(ours[method, data]["gain"] or 0.0) for data in DATA}
        means[method] = theirs, statistics.mean(gains.values())
        ahead = sum(float(ours[method, data]["gain_low"] or 0) > 0 for data in DATA)
        behind = sum(float(ours[method, data]["gain_high"] or 0) < 0 for data in DATA)
        expected[method] = [f"{theirs:+.3f}", f"{means[method][1]:+.3f}", f"{ahead} ▲ {behind} ▼"]
    page = (DOCS / "paper.md").read_text()
    found = re.search(r"<!-- beside the paper -->\n\n?((?:\|.*\n)+)", page)
    assert found is not None
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()[2:]]
    assert {row[0]: row[1:] for row in table} == expected
    said = re.search(r"rank\s+correlation\s+is\s+([+-]\d\.\d\d)", page)
    assert said is not None
    correlation = spearmanr(*zip(*means.values(), strict=True)).statistic
    assert said[1] == f"{correlation:+.2f}"
