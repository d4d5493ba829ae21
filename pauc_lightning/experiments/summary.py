"""The summary of a comparison on several data sets or backbones: all gains in one table and one figure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pauc_lightning.experiments.interval import LEVEL
from pauc_lightning.experiments.table import AHEAD, BEHIND, Table, values_of
from pauc_lightning.region import Region

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pauc_lightning.plotting import Gain


def summary_markdown(tables: Sequence[Table]) -> str:
    """Write a table for each region, with a row for each data set and backbone and a column for each method's gain.

    Args:
        tables: The tables of the test part, one for each data set and backbone, of the same methods and regions.
    """
    texts = [_of_region(tables, region) for region in tables[0].regions]
    marks = f"{AHEAD} ahead, {BEHIND} behind: the interval excludes zero"
    note = f"Gains over {tables[0].baseline} with their {LEVEL:.0%} intervals, as in the tables of each; {marks}."
    return "\n\n".join([*texts, note])


def _of_region(tables: Sequence[Table], region: Region) -> str:
    baseline = tables[0].baseline
    others = [method for method in tables[0].methods if method != baseline]
    lines = [
        f"{region.title}:",
        "",
        f"| data | {baseline} | {' | '.join(others)} |",
        f"|---|---|{'---|' * len(others)}",
    ]
    for table in tables:
        value = table.result(baseline, region).split(" ±")[0] or "not run"
        gains = " | ".join(table.gain_text(method, region, digits=3) for method in others)
        lines.append(f"| {table.task.title} | {value} | {gains} |")
    means = " | ".join(_mean_gain(tables, method, region) for method in others)
    counts = " | ".join(_counts(tables, method, region) for method in others)
    return "\n".join(
        [*lines, f"| mean | {_mean_value(tables, baseline, region)} | {means} |", f"| | | {counts} |"]
    )


def _mean_value(tables: Sequence[Table], method: str, region: Region) -> str:
    values = [value for table in tables for value in values_of(table.outcomes(method, region))]
    return f"{statistics.mean(values):.4f}" if values else "-"


def _mean_gain(tables: Sequence[Table], method: str, region: Region) -> str:
    gains = [statistics.mean(found) for table in tables if (found := table.gains(method, region))]
    return f"{statistics.mean(gains):+.3f}" if gains else "-"


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
    """Draw all gains with their intervals; None if there are none, as with one seed."""
    from pauc_lightning.plotting import plot_gains

    gains = summary_gains(tables)
    return plot_gains(gains, tables[0].baseline) if gains else None
