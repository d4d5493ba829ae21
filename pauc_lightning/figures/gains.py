"""``pauc figure gains``: the gains over the baseline with their intervals, of one or several comparisons."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pauc_lightning.cli.nearest import nearest
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.compare import RunPauc
from pauc_lightning.experiments.option_values import check_repeats, region, whole_number
from pauc_lightning.figures.command import said
from pauc_lightning.figures.gain_table import GainRow, GainTable, read_gains
from pauc_lightning.figures.request import labelled

if TYPE_CHECKING:
    from pauc_lightning.plotting import Gain
    from pauc_lightning.region import Region

DESCRIPTION = """\
Draw the gains of methods over the baseline with their 95 % intervals, from what `pauc compare` wrote: a panel for each
comparison, backbone and region, a row for each data set, a marker for each method. A filled marker has an interval that
excludes zero. A dotted interval belongs to a method that returned the model it started from on every seed: such a gain
says nothing about its loss. Nothing is trained, and no data are needed.

  pauc figure gains runs/compare
  pauc figure gains features=docs/tables/frozen_features.csv docs/tables/small_network.csv --region 0.3

A gain without an interval is left out: gains that are equal on all seeds have none, unless they are zero, and those of
a single seed may have none. All panels have one scale, unless it would hide the gains of one.
"""
_SHOWN = 3
"""Gains that were left out, of which more are only counted."""


@dataclass(frozen=True)
class _Choice:
    """What to draw; an empty list stands for all."""

    methods: Sequence[str]
    regions: Sequence[Region]
    data: Sequence[str]

    def takes(self, table: GainTable, row: GainRow) -> bool:
        """Whether a row is to be drawn."""
        return (
            row.method != table.baseline
            and (not self.methods or row.method in self.methods)
            and (not self.regions or row.region in self.regions)
            and (not self.data or table.data_of(row) in self.data)
        )


def main(argv: Sequence[str], run_pauc: RunPauc) -> None:
    """Draw the figure.

    Args:
        argv: The words after the figure's name.
        run_pauc: Not used, as nothing is trained.
    """
    arguments = _parser().parse_args(argv)
    columns = None if arguments.columns is None else whole_number("--columns", arguments.columns, 1)
    tables = [read_gains(path, name) for name, path in (labelled(word, "table") for word in arguments.tables)]
    _check_together(tables)
    choice = _choice(arguments, tables)
    chosen = [(table, row) for table in tables for row in _in_order(table, choice)]
    drawn = [(table, row) for table, row in chosen if row.has_interval]
    _report_left_out(tables, chosen, drawn)
    from pauc_lightning.figures.output import save_figure
    from pauc_lightning.figures.runs import shown_name, shown_names
    from pauc_lightning.plotting import plot_gain_panels

    there = dict.fromkeys(row.method for _, row in drawn)
    names = shown_names(list(there))
    figure = plot_gain_panels(
        list(_gains(tables, drawn, names)),
        shown_name(tables[0].baseline),
        [names[method] for method in choice.methods or there if method in there],
        columns,
        arguments.own_scales,
    )
    files = save_figure(Path(arguments.out), "gains", figure, [_csv_row(*pair) for pair in drawn])
    said(files, _following(tables))


def _following(tables: Sequence[GainTable]) -> str:
    """What to type next."""
    folders = (table.path.parent for table in tables)
    comparison = next((folder for folder in folders if (folder / "comparison.json").is_file()), None)
    if comparison is None:
        return "pauc compare --help    # gains of your own"
    return f"pauc figure roc {comparison}    # the curves behind them"


def _parser() -> PlainParser:
    parser = PlainParser(
        prog="pauc figure gains",
        usage="pauc figure gains TABLE [TABLE ...] [options]",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "tables",
        nargs="+",
        metavar="TABLE",
        help="a comparison's directory, or its table.csv; NAME=TABLE gives its panels a heading",
    )
    add("--out", default="runs/figures/gains", metavar="DIR", help="where to write the figure")
    add("--methods", nargs="+", metavar="NAME", help="methods, in this order (default: all but the baseline)")
    add(
        "--region",
        nargs="+",
        metavar="FPR[,TPR]",
        help="regions, as max_fpr or max_fpr,min_tpr (default: all)",
    )
    add("--data_sets", nargs="+", metavar="NAME", help="data sets, in this order (default: all)")
    add(
        "--columns",
        metavar="N",
        help="largest number of panels beside each other (default: as it fits best, up to 3)",
    )
    add("--own_scales", action="store_true", help="give every panel a scale of its own")
    return parser


# ---------------------------------------------------------------------- what to draw


def _check_together(tables: Sequence[GainTable]) -> None:
    """Reject tables that cannot stand in one figure."""
    first, *others = tables
    for table in others:
        if table.baseline != first.baseline:
            raise InputError(
                f"`{table.path}`: its gains are over {table.baseline}, those of `{first.path}` over {first.baseline}. "
                "Draw a figure for each baseline."
            )
    for number, table in enumerate(tables):
        if table.heading in [before.heading for before in tables[:number]]:
            raise InputError(
                f"`{table.path}`: a table before it has the name `{table.heading}`, too. Give it another one, as in "
                f"NAME={table.path}."
            )


def _choice(arguments: argparse.Namespace, tables: Sequence[GainTable]) -> _Choice:
    """Read the options that choose rows, and check that the tables have what they name."""
    rows = [(table, row) for table in tables for row in table.rows]
    baseline = tables[0].baseline
    methods, data = arguments.methods or [], arguments.data_sets or []
    if baseline in methods:
        raise InputError(
            f"`--methods {' '.join(methods)}`: all gains are over {baseline}, the baseline. Leave it out."
        )
    _check_names("--methods", methods, [row.method for _, row in rows if row.method != baseline])
    _check_names("--data_sets", data, [table.data_of(row) for table, row in rows])
    typed = arguments.region or []
    regions = [region("--region", text) for text in typed]
    check_repeats("--region", typed, regions)
    for text, wanted in zip(typed, regions, strict=True):
        _check_there("--region", text, wanted in {row.region for _, row in rows}, _regions_of(rows))
    return _Choice(methods, regions, data)


def _check_names(option: str, names: Sequence[str], there: Sequence[str]) -> None:
    check_repeats(option, names)
    known = list(dict.fromkeys(there))
    for name in names:
        _check_there(option, name, name in known, known)


def _check_there(option: str, name: str, is_there: bool, known: Sequence[str]) -> None:
    if not is_there:
        raise InputError(
            f"`{option} {name}`: no table has it.{nearest(name, known)} Choose from {', '.join(known)}."
        )


def _regions_of(rows: Sequence[tuple[GainTable, GainRow]]) -> list[str]:
    """The regions as they are typed."""
    found = dict.fromkeys(row.region for _, row in rows)
    return [f"{one.max_fpr!r},{one.min_tpr!r}" if one.is_two_way else repr(one.max_fpr) for one in found]


def _in_order(table: GainTable, choice: _Choice) -> list[GainRow]:
    """The chosen rows of a table: regions, backbones and data sets one after the other."""
    rows = [row for row in table.rows if choice.takes(table, row)]
    regions = list(choice.regions) or list(dict.fromkeys(row.region for row in rows))
    backbones = list(dict.fromkeys(row.backbone for row in rows))
    data = list(choice.data) or list(dict.fromkeys(table.data_of(row) for row in rows))
    methods = list(choice.methods) or list(dict.fromkeys(row.method for row in rows))
    return sorted(
        rows,
        key=lambda row: (
            regions.index(row.region),
            backbones.index(row.backbone),
            data.index(table.data_of(row)),
            methods.index(row.method),
        ),
    )


def _report_left_out(
    tables: Sequence[GainTable],
    chosen: Sequence[tuple[GainTable, GainRow]],
    drawn: Sequence[tuple[GainTable, GainRow]],
) -> None:
    """Say what is not drawn.

    Raises:
        InputError: If nothing is.
    """
    paths = ", ".join(str(table.path) for table in tables)
    if not chosen:
        raise InputError(
            f"`{paths}`: there is no gain to draw of what was chosen. Give a comparison of several methods, or fewer "
            "of --methods, --region and --data_sets together."
        )
    if not drawn:
        raise InputError(
            f"`{paths}`: no gain that was chosen has an interval. Repeat the runs that failed, if any, or compare with "
            "more seeds, such as `--seeds 0 1 2`."
        )
    without = [
        f"{row.method} on {', '.join(filter(None, (table.data_of(row), row.backbone, row.region.title)))}"
        for table, row in chosen
        if not row.has_interval
    ]
    if without:
        more = f" and {len(without) - _SHOWN} more" if len(without) > _SHOWN else ""
        print(f"Left out, as they have no interval: {'; '.join(without[:_SHOWN])}{more}.", file=sys.stderr)
    for table in tables:
        if all(table is not other for other, _ in chosen):
            print(f"Left out: `{table.path}` has no gain of what was chosen.", file=sys.stderr)


# ---------------------------------------------------------------------- the figure and its data


def _gains(
    tables: Sequence[GainTable], drawn: Sequence[tuple[GainTable, GainRow]], names: Mapping[str, str]
) -> Iterator[Gain]:
    from pauc_lightning.plotting import Gain

    several = {table.path: len({row.backbone for row in table.rows}) > 1 for table in tables}
    for table, row in drawn:
        assert row.gain is not None
        assert row.low is not None
        assert row.high is not None
        backbone = row.backbone if several[table.path] or not table.is_named else ""
        panel = f"{', '.join(filter(None, (table.heading, backbone)))}\n{row.region.title}"
        yield Gain(
            table.data_of(row),
            panel,
            names[row.method],
            row.gain,
            row.low,
            row.high,
            kept_start=row.kept_start,
        )


def _csv_row(table: GainTable, row: GainRow) -> dict[str, object]:
    return {
        "comparison": table.heading,
        "data": row.data,
        "backbone": row.backbone,
        "method": row.method,
        "max_fpr": row.region.max_fpr,
        "min_tpr": row.region.min_tpr,
        "baseline": table.baseline,
        "gain": row.gain,
        "gain_low": row.low,
        "gain_high": row.high,
        "kept_start": "yes" if row.kept_start else "no",
    }
