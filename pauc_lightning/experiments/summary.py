"""The summary of a comparison on several data sets or backbones: all gains in one table and one figure."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pauc_lightning.experiments.best_of import explain
from pauc_lightning.experiments.interval import LEVEL
from pauc_lightning.experiments.outcome import Outcome
from pauc_lightning.experiments.table import (
    AHEAD,
    BEHIND,
    COLLAPSED,
    FAILED,
    KEPT_START,
    NO_CHOICE,
    Table,
    count_kept_starts,
    explain_kept_start,
    values_of,
)
from pauc_lightning.region import Region

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pauc_lightning.plotting import Gain

_ENOUGH = 4
"""Pairs from which a rank correlation is worth printing."""
_FEW = 5
"""Methods besides the baseline that fit beside each other with their intervals."""
_SIGNS = {
    COLLAPSED: f"{COLLAPSED} A run collapsed in training; the table of each says which.",
    FAILED: f"{FAILED} A run failed and has no value; the table of each says why.",
    NO_CHOICE: f"{NO_CHOICE} Nothing could be chosen; the table of each says why.",
}


def summary_markdown(tables: Sequence[Table], gaps: Sequence[Table] = ()) -> str:
    """Write the gains of every region: a row for each data set and backbone, a column for each method.

    With more methods than fit beside each other, there is a table for each backbone, with a row for each method and a
    column for each data set.

    Args:
        tables: The tables of the test part, one for each data set and backbone, of the same methods and regions.
        gaps: The tables of the gap between training and validation part, in the same order; empty if it was not
            measured. The baseline's gap is shown beside the gains, with its rank correlation with them.
    """
    of_region = _of_region if len(tables[0].methods) - 1 <= _FEW else _by_method
    texts = [of_region(tables, gaps, region) for region in tables[0].regions]
    explained = {KEPT_START: explain_kept_start(len(tables[0].seeds)), **_SIGNS}
    signs = [text for sign, text in explained.items() if any(sign in of_one for of_one in texts)]
    below = [*_note(tables, gaps), *tables[0].starts(), *_choices(tables), *signs]
    return "\n\n".join([*texts, " ".join(below)])


def _note(tables: Sequence[Table], gaps: Sequence[Table]) -> Iterator[str]:
    baseline = tables[0].baseline
    marks = f"{AHEAD} ahead, {BEHIND} behind: the interval excludes zero"
    if len(tables[0].methods) - 1 <= _FEW:
        yield f"Gains over {baseline} with their {LEVEL:.0%} intervals, as in the tables of each; {marks}."
    else:
        yield f"Gains over {baseline}; their {LEVEL:.0%} intervals are in the tables of each; {marks}."
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
    yield from count_kept_starts(tables)
    if _of_backbones(tables):
        yield f"Headroom: how far the best backbone on the same data is ahead of this one, both with {baseline}."
    if gaps:
        yield f"Gap: partial AUC of {baseline} on the training part minus that on the validation part."
    if len(tables[0].methods) - 1 <= _FEW and (gaps or _of_backbones(tables)):
        yield "Correlations are Spearman's rank correlations with the gains, over the rows."


def _choices(tables: Sequence[Table]) -> Iterator[str]:
    """Say what the choices among methods are, and how often each was chosen in all tables."""
    return explain(tables[0].best_of, lambda label: _outcomes(tables, label))


def _outcomes(tables: Sequence[Table], method: str) -> list[Outcome]:
    return [
        one for table in tables for region in table.regions for one in table.outcomes(method, region).values()
    ]


def _of_region(tables: Sequence[Table], gaps: Sequence[Table], region: Region) -> str:
    baseline = tables[0].baseline
    others = [method for method in tables[0].methods if method != baseline]
    found = _predictors(tables, gaps, region)
    rows = [["data", baseline, *found, *others]]
    for number, table in enumerate(tables):
        before = [_signed(values[number]) for values in found.values()]
        gains = [
            f"{table.gain_text(method, region, digits=3)}{_start_mark(table, method, region)}"
            for method in others
        ]
        rows.append([table.task.title, _value(table, region), *before, *gains])
    blank = [""] * len(found)
    for title, some in [*_of_backbones(tables), ("mean", list(tables))]:
        means = [_signed(_mean_gain(some, method, region)) for method in others]
        rows.append([title, _mean_value(some, baseline, region), *blank, *means])
    rows.append(["", "", *blank, *(_counts(tables, method, region) for method in others)])
    for name, values in found.items():
        all_of = (_correlation(values, tables, method, region) for method in others)
        texts = ("-" if one is None else f"{one:+.2f}" for one in all_of)
        rows.append([f"correlation with the {name.removeprefix('its ')}", "", *blank, *texts])
    return _markdown(f"{region.title}:", rows)


def _by_method(tables: Sequence[Table], gaps: Sequence[Table], region: Region) -> str:
    """Write a table for each backbone, with a row for each method."""
    baseline, found = tables[0].baseline, _predictors(tables, gaps, region)
    texts = []
    for title, some in _of_backbones(tables) or [("", list(tables))]:
        names = [table.task.data for table in some]
        if len(set(names)) < len(names):  # one data set with several backbones
            names = [table.task.backbone for table in some]
        rows = [["gain", *names, "mean", ""]]
        values = [_value(table, region) for table in some]
        rows.append([f"{baseline}, its value", *values, _mean_value(some, baseline, region), ""])
        for name, all_of in found.items():
            shown = [_signed(one) for table, one in zip(tables, all_of, strict=True) if table in some]
            rows.append([f"{baseline}, {name}", *shown, "", ""])
        for method in tables[0].methods:
            if method != baseline:
                gains = [_short_gain(table, method, region) for table in some]
                mean = _signed(_mean_gain(some, method, region))
                rows.append([method, *gains, mean, _counts(some, method, region)])
        heading = region.title + (f", {title.removeprefix('mean, ')}" if title else "")
        texts.append(_markdown(f"{heading}:", rows))
    return "\n\n".join(texts)


def _value(table: Table, region: Region) -> str:
    """The baseline's mean, with the signs of collapsed and failed runs but without the deviation."""
    mean, _, rest = table.result(table.baseline, region).partition(" ±")
    signs = "".join(sign for sign in (KEPT_START, *_SIGNS) if sign in rest)
    return f"{mean} {signs}".strip() or "not run"


def _of_backbones(tables: Sequence[Table]) -> list[tuple[str, list[Table]]]:
    """The tables of each backbone under the title of their mean; empty unless several share data sets."""
    backbones = list(dict.fromkeys(table.task.backbone for table in tables))
    if len(backbones) == 1 or len(backbones) == len(tables):
        return []
    return [
        (f"mean, {name}", [table for table in tables if table.task.backbone == name]) for name in backbones
    ]


def _short_gain(table: Table, method: str, region: Region) -> str:
    gains, interval = table.gains(method, region), table.interval(method, region)
    if not gains:
        return "-"
    mark = {1: f" {AHEAD}", -1: f" {BEHIND}"}.get(interval.side, "") if interval is not None else ""
    return f"{statistics.mean(gains):+.3f}{mark}{_start_mark(table, method, region)}"


def _start_mark(table: Table, method: str, region: Region) -> str:
    return f" {KEPT_START}" if table.kept_start(method, region) else ""


def _markdown(heading: str, rows: Sequence[Sequence[str]]) -> str:
    header, *others = rows
    return "\n".join([heading, "", _row(header), f"|{'---|' * len(header)}", *(_row(row) for row in others)])


def _predictors(
    tables: Sequence[Table], gaps: Sequence[Table], region: Region
) -> dict[str, list[float | None]]:
    """What is known of the baseline before another method is trained, for each table."""
    found: dict[str, list[float | None]] = {}
    if _of_backbones(tables):
        found["its headroom"] = [_headroom(tables, table, region) for table in tables]
    if gaps:
        found["its gap"] = [_gap(table, region) for table in gaps]
    return found


def _headroom(tables: Sequence[Table], table: Table, region: Region) -> float | None:
    """How far the best backbone on the same data is ahead of the table's, both with the baseline.

    None if no other backbone has a value, as then nothing was compared.
    """
    all_of = {
        other.task.backbone: statistics.mean(values)
        for other in tables
        if other.task.data == table.task.data
        and (values := values_of(other.outcomes(other.baseline, region)))
    }
    own = all_of.get(table.task.backbone)
    return None if own is None or len(all_of) == 1 else max(all_of.values()) - own


def _row(entries: Sequence[str]) -> str:
    return "|" + "".join(f" {entry} |" if entry else " |" for entry in entries)


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"


def _gap(gaps: Table, region: Region) -> float | None:
    """The baseline's mean gap."""
    values = values_of(gaps.outcomes(gaps.baseline, region))
    return statistics.mean(values) if values else None


def _correlation(
    before: Sequence[float | None], tables: Sequence[Table], method: str, region: Region
) -> float | None:
    """Spearman's rank correlation of what was known before with the method's gain; None for fewer than four pairs."""
    from scipy.stats import spearmanr  # slow to import

    both = [
        (one, statistics.mean(gains))
        for one, table in zip(before, tables, strict=True)
        if one is not None and (gains := table.gains(method, region))
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
                    kept = table.kept_start(method, region)
                    found.append(Gain(row, panel, method, mean, interval.low, interval.high, kept_start=kept))
    return found


def _order(tables: Sequence[Table], table: Table) -> int:
    """Panels of one backbone after the other."""
    return list(dict.fromkeys(each.task.backbone for each in tables)).index(table.task.backbone)


def summary_figure(tables: Sequence[Table]) -> Figure | None:
    """Draw all gains, a line of panels for each region; None if there are none.

    A few methods are drawn with their intervals, many as a map of coloured cells.
    """
    from pauc_lightning.plotting import plot_gain_map, plot_gains

    gains = summary_gains(tables)
    if not gains:
        return None
    if len(tables[0].methods) - 1 > _FEW:
        return plot_gain_map(gains, tables[0].baseline)
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
