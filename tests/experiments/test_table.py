"""The tables of a comparison, in every format."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from pauc_lightning.experiments.cells import Run, Task
from pauc_lightning.experiments.csv_rows import as_csv, csv_rows
from pauc_lightning.experiments.display import rich_table
from pauc_lightning.experiments.interval import Interval, corrected_interval
from pauc_lightning.experiments.latex import PREAMBLE, as_latex, escape
from pauc_lightning.experiments.markdown import as_markdown
from pauc_lightning.experiments.outcome import Collapse, Outcome
from pauc_lightning.experiments.table import Table
from pauc_lightning.region import Region

REGION = Region(0.3)
VALUES = {
    "ce": [0.50, 0.60, 0.55],
    "ahead": [0.601, 0.699, 0.650],  # gains 0.101, 0.099, 0.100
    "behind": [0.401, 0.499, 0.450],
    "un_sure": [0.90, 0.40, 0.50],
}


def table(values: Mapping[str, Sequence[float | None]] = VALUES) -> Table:
    n_seeds = len(next(iter(values.values())))

    def outcome(run: Run) -> Outcome:
        value = values[run.method][run.seed]
        return Outcome(value) if value is not None else Outcome(failure="no.")

    return Table(list(values), [REGION], range(n_seeds), outcome, next(iter(values)))


def column(text: str, number: int) -> list[str]:
    """A column of a Markdown table, without its title."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [line.split(" | ")[number].strip("| ") for line in lines[1:]]


def test_ahead_and_behind_are_said_only_where_the_interval_excludes_zero() -> None:
    text = as_markdown(table())
    interval = corrected_interval([0.101, 0.099, 0.100])
    assert interval is not None
    ends = f"[{interval.low:+.4f}, {interval.high:+.4f}]"
    assert column(text, 2)[:2] == ["-", f"+0.1000 {ends} ▲"]
    assert column(text, 2)[2].endswith("▼")
    assert column(text, 2)[3].startswith("+0.0500 [-")
    assert column(text, 2)[3].endswith("]")
    assert "▲ ahead of ce, ▼ behind ce: the interval excludes zero." in text
    unsure = as_markdown(table({name: VALUES[name] for name in ("ce", "un_sure")}))
    assert "▲" not in unsure
    assert "No interval excludes zero: no method is ahead of ce or behind it." in unsure


def test_the_interval_uses_the_ratio_of_the_parts() -> None:
    narrow, wide = (replace(table(), test_over_train=ratio).interval("ahead", REGION) for ratio in (0.0, 1.0))
    assert narrow is not None
    assert wide is not None
    # Half widths are as the square roots of 1/3 and 1/3 + 1.
    assert (wide.high - wide.low) / (narrow.high - narrow.low) == pytest.approx(2.0)


def test_equal_gains_prove_nothing_unless_both_models_are_the_same() -> None:
    one = table({"ce": [0.6, 0.7, 0.8], "fell": [0.526, 0.626, 0.726], "same": [0.6, 0.7, 0.8]})
    text = as_markdown(one)
    assert column(text, 2) == ["-", "-0.0740", "+0.0000 [+0.0000, +0.0000]"]
    assert "A gain without brackets is equal on all seeds" in text
    assert "No interval excludes zero" in text
    assert "without brackets" not in as_markdown(table())


def test_one_seed_has_neither_deviation_nor_interval_nor_verdict() -> None:
    text = as_markdown(table({name: values[:1] for name, values in VALUES.items()}))
    assert column(text, 1)[0] == "0.5000"
    assert column(text, 2) == ["-", "+0.1010", "-0.0990", "+0.4000"]
    for sign in ("±", "nan", "▲", "▼", "["):
        assert sign not in text


def test_one_seed_has_the_interval_of_the_paired_samples() -> None:
    ends = {"ahead": Interval(0.05, 0.15), "behind": Interval(-0.2, -0.01), "un_sure": Interval(-0.1, 0.9)}
    first = table({name: values[:1] for name, values in VALUES.items()})
    text = as_markdown(replace(first, paired=lambda run, other: ends[run.method]))
    assert column(text, 2) == [
        *("-", "+0.1010 [+0.0500, +0.1500] ▲", "-0.0990 [-0.2000, -0.0100] ▼"),
        "+0.4000 [-0.1000, +0.9000]",
    ]
    assert "One seed: in brackets the 95% interval of the gain on these test samples" in text
    assert "▲ ahead of ce, ▼ behind ce: the interval excludes zero." in text
    assert "±" not in text
    # Several seeds say more than one test part: its interval is not used then.
    several = as_markdown(replace(table(), paired=lambda run, other: Interval(0.9, 1.0)))
    assert several == as_markdown(table())


def test_best_and_second_best_are_marked() -> None:
    assert table().ranks(REGION) == {"ce": "", "ahead": "best", "behind": "", "un_sure": "second"}
    assert column(as_markdown(table()), 1)[1].startswith("**0.6500 ±")
    assert column(as_markdown(table()), 1)[3].startswith("<u>0.6000 ±")
    assert "**Best** and <u>second best</u>" in as_markdown(table())
    smallest = replace(table(), best="smallest")
    assert smallest.ranks(REGION) == {"ce": "second", "ahead": "", "behind": "best", "un_sure": ""}
    assert column(as_markdown(smallest), 2)[1].endswith("▼")  # larger, which is worse
    neither = as_markdown(replace(table(), best="neither"))
    assert not any(mark in neither for mark in ("**", "▲", "▼"))


@pytest.mark.parametrize(
    ("values", "ranks"),
    [
        ({"a": [0.5], "b": [0.4]}, {"a": "best", "b": ""}),  # the worse of two is not second best
        ({"a": [0.5], "b": [0.5], "c": [0.4]}, {"a": "best", "b": "best", "c": "second"}),
        ({"a": [0.5], "b": [0.50001]}, {"a": "", "b": ""}),  # equal as printed
        ({"a": [0.5]}, {"a": ""}),
        (
            {"a": [0.5, 0.5], "b": [0.9, None], "c": [0.4, 0.4]},
            {"a": "best", "b": "", "c": ""},
        ),  # a seed failed
    ],
)
def test_what_counts_as_best(values: dict[str, list[float | None]], ranks: dict[str, str]) -> None:
    assert table(values).ranks(REGION) == ranks


def test_a_published_value_stands_beside_ours() -> None:
    assert "paper" not in as_markdown(table())
    beside = replace(table(), published={("ce", REGION): 0.4321})
    assert beside.header()[-1] == "paper"
    assert column(as_markdown(beside), 3) == ["0.4321", "-", "-", "-"]
    rows = list(csv_rows(beside, "test_pauc"))
    assert [row["paper"] for row in rows] == [0.4321, "", "", ""]


def test_the_csv_holds_every_seed_and_the_interval() -> None:
    rows = list(
        csv.DictReader(io.StringIO(as_csv(list(csv_rows(replace(table(), task=Task("d", "b")), "q")))))
    )
    row = rows[1]
    assert (row["quantity"], row["data"], row["backbone"], row["method"]) == ("q", "d", "b", "ahead")
    assert [float(row[f"seed_{seed}"]) for seed in range(3)] == VALUES["ahead"]
    interval = table().interval("ahead", REGION)
    assert interval is not None
    assert (float(row["gain_low"]), float(row["gain_high"])) == (interval.low, interval.high)
    assert rows[0]["gain"] == rows[0]["gain_low"] == ""


def test_a_terminal_gets_the_marks_as_styles() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system="standard", width=150)
    console.print(rich_table(table()))
    assert re.search(r"\x1b\[1m *0\.6500 ± 0\.0490", screen.getvalue())
    assert re.search(r"\x1b\[4m *0\.6000 ± 0\.2646", screen.getvalue())
    assert "**" not in screen.getvalue()


# ---------------------------------------------------------------------- LaTeX


def test_latex_has_the_rules_of_booktabs_and_escapes() -> None:
    text = as_latex(table(), caption="50 % of R&D")
    lines = [line.strip() for line in text.splitlines()]
    assert r"\caption{50 \% of R\&D}" in lines
    assert [line for line in lines if line.endswith("rule")] == [r"\toprule", r"\midrule", r"\bottomrule"]
    rows = [line for line in lines if line.endswith(r"\\")]
    assert rows[0] == r"method & OPAUC (FPR $\le$ 0.3) & gain over ce \\"
    assert rows[2].startswith(r"ahead & \textbf{0.6500 $\pm$ 0.0490} & +0.1000 [+")
    assert rows[3].endswith(r"$\blacktriangledown$ \\")
    assert rows[3].split(" & ")[2].startswith("$-$0.1000 [$-$0.")
    assert rows[4].startswith(r"un\_sure & \underline{0.6000")
    assert all(row.count(" & ") == 2 for row in rows)
    assert text.isascii()
    assert text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")
    assert text.replace(r"\$", "").count("$") % 2 == 0


def test_every_special_sign_is_escaped() -> None:
    assert escape(r"a_b & 5% #1 ${x}^~ \y <|>") == (
        r"a\_b \& 5\% \#1 \$\{x\}\textasciicircum{}\textasciitilde{} \textbackslash{}y "
        r"\textless{}\textbar{}\textgreater{}"
    )


def test_footnotes_of_collapsed_and_failed_runs_are_in_latex_too() -> None:
    outcomes = {"ce": Outcome(0.5, Collapse(7, "all scores are 1")), "bad": Outcome(failure="a_b is gone.")}
    marked = Table(["ce", "bad"], [REGION], [0], lambda run: outcomes[run.method], "ce")
    text = as_latex(marked)
    assert r"ce & 0.5000 \dag{} & --" in text
    assert r"bad & failed \ddag{} & --" in text
    assert r"a\_b is gone." in text


def test_a_method_that_kept_its_start_on_every_seed_is_marked() -> None:
    """Else two methods with the same warm-up would look equally good, although neither did anything."""
    values = {"ce": [0.5, 0.6], "kept": [0.55, 0.6], "once": [0.55, 0.65]}
    starts = {("kept", 0), ("kept", 1), ("once", 1)}

    def outcome(run: Run) -> Outcome:
        return Outcome(values[run.method][run.seed], is_start=(run.method, run.seed) in starts)

    marked = Table(list(values), [REGION], [0, 1], outcome, "ce")
    assert ["°" in text for text in column(as_markdown(marked), 1)] == [False, True, False]
    assert "On every seed the best model is the one that the method started from" in as_markdown(marked)
    assert r"kept & \underline{0.5750 $\pm$ 0.0354 $^\circ$}" in as_latex(marked)
    assert [row["start_seeds"] for row in csv_rows(marked, "q")] == ["", "0 1", "1"]
    # The gain of a kept start is marked as well, because its ▲ says nothing about the loss.
    assert ["°" in text for text in column(as_markdown(marked), 2)] == [False, True, False]
    # Where only some seeds kept their start, which no mark shows, they are counted.
    count = "Runs that returned the model they started from: once 1 of 2."
    once = replace(marked, methods=["ce", "once"])
    assert as_markdown(once).endswith(f"\n{count}")
    assert count in as_markdown(once, explained={count})  # the count of another table may be the same
    assert count in as_latex(once)
    assert "°" not in as_markdown(once)
    assert "started from" not in as_markdown(replace(marked, methods=["ce"]))
    assert "Runs that" not in as_markdown(replace(marked, methods=["ce", "kept"]))
    # A seed without a value does not count, and a method without any has kept nothing.
    failed = {("kept", 0), ("once", 0), ("once", 1)}
    some = replace(
        marked,
        outcome=lambda run: Outcome(failure="gone") if (run.method, run.seed) in failed else outcome(run),
    )
    assert [some.kept_start(method, REGION) for method in values] == [False, True, False]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles(tmp_path: Path) -> None:
    content = "\n".join(
        [
            r"\documentclass{article}\usepackage{booktabs,amssymb}\begin{document}",
            PREAMBLE,
            as_latex(table(), "A & B"),
            r"\end{document}",
        ]
    )
    (tmp_path / "t.tex").write_text(content)
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "t.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
