"""``pauc report``: one HTML file about runs, or about scores from elsewhere."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.region import Region

DESCRIPTION = """\
Write one HTML file about runs: the headline number with its interval, ROC
curve, scores, operating points, calibration, training curves, settings, and
the commands to repeat it. Several runs are shown side by side. The file needs
no network. Parts that are missing are named with the command that makes them.

  pauc report runs/DigitsLT-UPAUCI/version_0
  pauc report runs/DigitsLT-CE/version_0 runs/DigitsLT-UPAUCI/version_0 --output both.html
  pauc report test.csv --max_fpr 0.05 --label outcome --score xgboost logistic
"""


def _parser() -> PlainParser:
    parser = PlainParser(
        prog="pauc report", description=DESCRIPTION, usage="pauc report RUN|FILE ... [options]"
    )
    parser.add_argument(
        "models",
        nargs="+",
        metavar="RUN|FILE",
        help="Directories of runs, or CSV, TSV or Parquet files with a column of labels and one of scores",
    )
    parser.add_argument(
        "--output", metavar="FILE", default="report.html", help="File to write, ending in .html"
    )
    parser.add_argument("--overwrite", action="store_true", help="Replace the --output file if it exists")
    parser.add_argument(
        "--names", nargs="+", metavar="NAME", help="A name for each run or file, in their order"
    )
    parser.add_argument("--title", metavar="TEXT", help="Heading of the report")
    parser.add_argument(
        "--max_fpr",
        type=float,
        metavar="RATE",
        help="Judge all in this region: largest false-positive rate; if left out, that of each run. Files need it",
    )
    parser.add_argument(
        "--min_tpr", type=float, metavar="RATE", help="Smallest true-positive rate of that region"
    )
    parser.add_argument(
        "--min_fpr", type=float, metavar="RATE", help="Smallest false-positive rate of that region"
    )
    parser.add_argument("--label", metavar="COLUMN", default="label", help="Column of the labels in files")
    parser.add_argument("--positive", metavar="VALUE", help="Label of the positives in files, if not 1")
    parser.add_argument(
        "--score",
        nargs="+",
        metavar="COLUMN",
        default=["score"],
        help="Column of the scores in files; several are several models",
    )
    parser.add_argument(
        "--thresholds_from",
        metavar="FILE",
        help="File with the same columns for other samples, on which thresholds and calibration are chosen; if left "
        "out, thresholds are chosen on FILE itself",
    )
    parser.add_argument(
        "--confidence",
        type=float,
        metavar="RATE",
        default=0.95,
        help="Probability that intervals cover the true value",
    )
    return parser


def main(argv: Sequence[str]) -> None:
    """Write the report, and say where it is and what it lacks."""
    given = _parser().parse_args(argv)
    region = _region(given)
    from pauc_lightning.decisions import not_finished
    from pauc_lightning.files import write_text
    from pauc_lightning.report.page import page
    from pauc_lightning.report.write import Columns, checked_output, read_subjects
    from pauc_lightning.run_files import has_earlier_test

    output = checked_output(given.output, given.overwrite)
    columns = Columns(given.label, tuple(given.score), given.positive)
    other = None if given.thresholds_from is None else Path(given.thresholds_from)
    subjects = read_subjects(given.models, region, given.names, columns, other, given.confidence)
    write_text(output, page(subjects, given.title))
    print(f"Wrote {output} ({output.stat().st_size / 1000:,.0f} kB): open it in a browser.")
    runs = [subject for subject in subjects if subject.training is not None]
    for note in filter(None, (not_finished(subject.place) for subject in runs)):
        print(note)
    untested = [subject.place for subject in runs if subject.part != "test"]
    for place in untested:
        print(
            f"The test of {place} is of an earlier model, so the report shows the validation part."
            if has_earlier_test(place)
            else f"The test part of {place} has not been evaluated."
        )
    if untested:
        typed = shlex.join(["pauc", "report", *argv, *([] if given.overwrite else ["--overwrite"])])
        print(f"Next:  {shlex.join(['pauc', 'test', untested[0]])}  and then  {typed}")


def _region(given: Namespace) -> Region | None:
    bounds = {
        name: getattr(given, name)
        for name in ("max_fpr", "min_tpr", "min_fpr")
        if getattr(given, name) is not None
    }
    if bounds and "max_fpr" not in bounds:
        raise InputError(
            f"`--{next(iter(bounds))}` names half a region: add --max_fpr, such as --max_fpr 0.1."
        )
    return Region(**bounds) if bounds else None
