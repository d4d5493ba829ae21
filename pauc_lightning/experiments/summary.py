"""The summary of a comparison on several data sets or backbones: all gains in one table and one figure."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pauc_lightning.experiments.interval import LEVEL
from pauc_lightning.experiments.table import AHEAD, BEHIND, Table, values_of
from pauc_lightning.region import Region

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pauc_lightning.plotting import Gain

_ENOUGH = 4
"""Pairs from which a rank correlation is worth printing."""


def summary_markdown(tables: Sequence[Table], gaps: Sequence[Table] = ()) -> str:
    """Write a table for each region, with a row for each data set and backbone and a column for each method's gain.

    Args:
        tables: The tables of the test part, one for each data set and backbone, of the same methods and regions.
        gaps: The tables of the gap between training and validation part, in the same order; empty if it was not
            measured. The baseline's gap is shown beside the gains, with its rank correlation with them.
    """
    texts = [_of_region(tables, gaps, region) for region in tables[0].regions]
    return "\n\n".join([*texts, " ".join(_note(tables, gaps))])


def _note(tables: Sequence[Table], gaps: Sequence[Table]) -> Iterator[str]:
    baseline = tables[0].baseline
    marks = f"{AHEAD} ahead, {BEHIND} behind: the interval excludes zero"
    yield f"Gains over {baseline} with their {LEVEL:.0%} intervals, as in the tables of each; {marks}."
    number = sum(
        table.interval(method, region) is not None
        for table in tables
        for method in table.methods
        for region in table.regions
    )
    if number > 1:
        by_chance = number * (1 - LEVEL) / 2
        yield (
            f"The intervals are not adjusted for their number: if no method differed from {baseline}, about "
            f"{by_chance:.1f} of these {number} would be marked {AHEAD} by chance, and as many {BEHIND}."
        )
    if gaps:
        yield (
            f"Gap: partial AUC of {baseline} on the training part minus that on the validation part; its rank "
            "correlation (Spearman) with the gains is negative if they shrink where the gap is wide."
        )


def _of_region(tables: Sequence[Table], gaps: Sequence[Table], region: Region) -> str:
    baseline = tables[0].baseline
    others = [method for method in tables[0].methods if method != baseline]
    header = ["data", baseline, *(["its gap"] if gaps else []), *others]
    rows = []
    for number, table in enumerate(tables):
        value = table.result(baseline, region).split(" ±")[0] or "not run"
        gap = [_signed(_gap(gaps[number], region))] if gaps else []
        gains = [table.gain_text(method, region, digits=3) for method in others]
        rows.append([table.task.title, value, *gap, *gains])
    blank = [""] if gaps else []
    means = [_signed(_mean_gain(tables, method, region)) for method in others]
    rows.append(["mean", _mean_value(tables, baseline, region), *blank, *means])
    rows.append(["", "", *blank, *(_counts(tables, method, region) for method in others)])
    if gaps:
        found = [_correlation(tables, gaps, method, region) for method in others]
        rows.append(
            ["correlation with the gap", "", *blank, *("-" if c is None else f"{c:+.2f}" for c in found)]
        )
    rule = f"|{'---|' * len(header)}"
    return "\n".join([f"{region.title}:", "", _row(header), rule, *(_row(row) for row in rows)])


def _row(entries: Sequence[str]) -> str:
    return "|" + "".join(f" {entry} |" if entry else " |" for entry in entries)


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"


def _gap(gaps: Table, region: Region) -> float | None:
    """The baseline's mean gap."""
    values = values_of(gaps.outcomes(gaps.baseline, region))
    return statistics.mean(values) if values else None


def _correlation(tables: Sequence[Table], gaps: Sequence[Table], method: str, region: Region) -> float | None:
    """Spearman's rank correlation of the baseline's gap and the method's gain; None for fewer than four pairs."""
    from scipy.stats import spearmanr  # slow to import

    both = [
        (gap, statistics.mean(gains))
        for table, of_gap in zip(tables, gaps, strict=True)
        if (gap := _gap(of_gap, region)) is not None and (gains := table.gains(method, region))
    ]
    if len(both) < _ENOUGH or any(len(set(side)) == 1 for side in zip(*both, strict=True)):
        return None
    return float(spearmanr(both).statistic)


def _mean_value(tables: Sequence[Table], method: str, region: Region) -> str:
    values = [value for table in tables for value in values_of(table.outcomes(method, region))]
    return f"{statistics.mean(values):.4f}" if values else "-"


def _mean_gain(tables: Sequence[Table], method: str, region: Region) -> float | None:
    gains = [statistics.mean(found) for table in tables if (found := table.gains(method, region))]
    return statistics.mean(gains) if gains else None


def _counts(tables: Sequence[Table], method: str, region: Region) -> str:
    intervals = [table.interval(method, region) for table in tables]
    sides = [interval.side for interval in intervals if interval is not None]
    return f"{sides.count(1)} {AHEAD} {sides.count(-1)} {BEHIND} of {len(sides)}"


def summary_gains(tables: Sequence[Table]) -> list[Gain]:
    """The gains of all tables for the figure: a panel for each backbone and region, a row for each data set."""
    from pauc_lightning.plotting import Gain  # matplotlib is slow to import

    several_backbones = len({table.task.backbone for table in tables}) > 1
    several_data = len({table.task.data for table in tables}) > 1
    found = []
    for region in tables[0].regions:
        for table in sorted(tables, key=lambda table: _order(tables, table)):
            task = table.task
            panel = f"{task.backbone}, {region.title}" if several_backbones and several_data else region.title
            row = task.data if several_data else task.backbone
            for method in table.methods:
                interval, gains = table.interval(method, region), table.gains(method, region)
                if interval is not None and gains:
                    mean = statistics.mean(gains)
                    found.append(Gain(row, panel, method, mean, interval.low, interval.high))
    return found


def _order(tables: Sequence[Table], table: Table) -> int:
    """Panels of one backbone after the other."""
    return list(dict.fromkeys(each.task.backbone for each in tables)).index(table.task.backbone)


def summary_figure(tables: Sequence[Table]) -> Figure | None:
    """Draw all gains with their intervals, a line of panels for each region; None if there are none."""
    from pauc_lightning.plotting import plot_gains

    gains = summary_gains(tables)
    if not gains:
        return None
    n_panels = len({gain.panel for gain in gains})
    return plot_gains(gains, tables[0].baseline, columns=max(1, n_panels // len(tables[0].regions)))


def gap_figure(tables: Sequence[Table], gaps: Sequence[Table]) -> Figure | None:
    """Draw the gains by the baseline's gap between training and validation part; None if there are none."""
    from pauc_lightning.plotting import GainByGap, plot_gains_by_gap

    points = [
        GainByGap(
            table.task.title, region.title, method, statistics.mean(gains), interval.low, interval.high, gap
        )
        for region in tables[0].regions
        for table, of_gap in zip(tables, gaps, strict=True)
        for method in table.methods
        if (interval := table.interval(method, region)) is not None
        and (gains := table.gains(method, region))
        and (gap := _gap(of_gap, region)) is not None
    ]
    return plot_gains_by_gap(points, tables[0].baseline) if points else None
