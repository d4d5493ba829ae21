"""The tables of the documentation say what the comparisons found: computed again from the value of every seed.

A comment before a table names the comparison's ``table.csv``, kept in docs/tables, the region, and the backbone if
the table has only one of several, as in ``<!-- name.csv 0.3 -->`` and ``<!-- name.csv 0.3 linear -->``.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import spearmanr
from scipy.stats import t as student

DOCS = Path(__file__).parent.parent / "docs"
MARKED = re.compile(
    r"^<!-- (?P<file>\w+\.csv) (?P<region>[\d.,]+)(?: (?P<backbone>\w+))? -->\n+(?P<table>(?:\|.*\n)+)",
    re.MULTILINE,
)
TABLES = [
    pytest.param(
        *found.group("file", "region", "backbone", "table"),
        id="-".join(filter(None, (page.stem, *found.group("file", "region", "backbone")))),
    )
    for page in sorted(DOCS.rglob("*.md"))
    for found in MARKED.finditer(page.read_text(encoding="utf-8"))
]


class Cell(NamedTuple):
    """What a comparison found for a method and a data set: its value, and its gain with the ends of the interval.

    ``kept`` says whether the method returned the model that it started from on every seed.
    """

    value: float
    gain: float
    low: float
    high: float
    kept: bool

    def shows(self, text: str) -> bool:
        """Whether a table's entry says the same."""
        mark = (" ▲" if self.low > 0 else " ▼" if self.high < 0 else "") + " °" * self.kept
        short = f"{self.gain:+.3f}"
        full = f"{short} [{self.low:+.3f}, {self.high:+.3f}]"
        return text in (f"{self.value:.4f}" + " °" * self.kept, short + mark, full + mark)


def rows_of(file: str) -> list[dict[str, str]]:
    """The rows of a table's test part."""
    with (DOCS / "tables" / file).open(newline="", encoding="utf-8") as opened:
        return [row for row in csv.DictReader(opened) if row["quantity"] == "test_pauc"]


def cells(file: str, region: str, backbone: str | None) -> dict[tuple[str, str], Cell]:
    """The cells by data set (with its backbone, unless only one is wanted) and method.

    Methods that are only there to be chosen from, as by ``best_of``, are left out.
    """
    rows = rows_of(file)
    members = {name for row in rows for name in row.get("chosen", "").split()}
    rows = [row for row in rows if row["method"] not in members]
    max_fpr, _, min_tpr = region.partition(",")
    of: dict[str, dict[str, dict[str, str]]] = {}
    for row in rows:
        if (float(row["max_fpr"]), float(row["min_tpr"])) == (float(max_fpr), float(min_tpr or 0)):
            if backbone not in (None, row["backbone"]):
                continue
            title = ", ".join(filter(None, (row["data"], row["backbone"] if backbone is None else "")))
            of.setdefault(title, {})[row["method"]] = row
    found = {}
    for title, methods in of.items():
        values = {
            method: np.array(
                [float(value) for key, value in row.items() if key.startswith("seed_") and value]
            )
            for method, row in methods.items()
        }
        for method, row in methods.items():
            gains = values[method] - values[row["baseline"]]
            low, high = (float(row[end] or "nan") for end in ("gain_low", "gain_high"))
            if row["gain_low"]:  # equal gains have no interval
                # The parts' sizes are rounded, so their ratio is only about 0.15/0.7, mostly of small data.
                spread = gains.std(ddof=1) * np.sqrt(1 / len(gains) + 0.15 / 0.7)
                half = student.ppf(0.975, len(gains) - 1) * spread
                np.testing.assert_allclose((high - low) / 2, half, rtol=0.02, atol=1e-12)
                np.testing.assert_allclose((high + low) / 2, gains.mean(), atol=1e-9)
            seeds = {
                key.removeprefix("seed_") for key, value in row.items() if key.startswith("seed_") and value
            }
            kept = set(row.get("start_seeds", "").split()) == seeds
            found[title, method] = Cell(float(values[method].mean()), float(gains.mean()), low, high, kept)
    return found


def entries(table: str) -> list[list[str]]:
    return [[entry.strip() for entry in line.strip().strip("|").split("|")] for line in table.splitlines()]


@pytest.mark.parametrize(("file", "region", "backbone", "table"), TABLES)
def test_a_table_of_the_documentation(file: str, region: str, backbone: str | None, table: str) -> None:
    of = cells(file, region, backbone)
    header, _, *rows = entries(table)
    if header[0] == "gain":  # a row for each method, and a column for each data set, of one backbone
        of = {(title.partition(",")[0], method): cell for (title, method), cell in of.items()}
    checked = 0
    for row in rows:
        name = row[0].removesuffix(", its value")
        for column, text in zip(header[1:], row[1:], strict=True):
            wanted = of.get((name, column)) or of.get((column, name))
            if wanted is not None:
                assert wanted.shows(text), f"{name}, {column}: the table says {text}, the comparison {wanted}"
                checked += 1
    assert checked == len(of)


def test_every_measured_table_is_shown() -> None:
    shown = {str(table.values[0]) for table in TABLES}
    assert shown == {path.name for path in (DOCS / "tables").glob("*.csv")}


def test_what_the_headroom_foretells_from_the_better_start() -> None:
    linear = cells("either_start.csv", "0.05", "linear")
    seeds = (6, 7, 8)  # of both tables
    values = {
        name: {
            row["data"]: np.mean([float(row[f"seed_{seed}"]) for seed in seeds])
            for row in rows_of(f"either_start{name}.csv")
            if row["method"] == "ce"
        }
        for name in ("", "_mlp")
    }
    data = list(values[""])
    headroom = [values["_mlp"][one] - values[""][one] for one in data]
    page = " ".join((DOCS / "when.md").read_text(encoding="utf-8").split())
    said = re.search(r"eight linear scorers is (\S+) for `upauci`, but (\S+) for `partial_auc`", page)
    assert said is not None
    for method, text in zip(("upauci", "partial_auc"), said.groups(), strict=True):
        gains = [linear[one, method].gain for one in data]
        assert f"{spearmanr(headroom, gains).statistic:+.2f}" == text
