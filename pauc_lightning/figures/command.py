"""``pauc figure NAME``: draws a figure from runs, or trains what it needs first. Imports nothing slow."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.experiments.compare import RunPauc

FIGURES = {
    "convergence": "training curves of several methods, without a warm-up",
    "scores": "distribution of the test scores in each class, with the region's thresholds",
    "sensitivity": "results by the initial values of PAUCI's or UPAUCI's variables, and by omega",
    "quantile": "the share of negatives that PAUCI really selects, by kappa, and UPAUCI by omega",
    "pull": "how strongly each loss pulls each negative down, with scores as they are",
    "roc": "ROC curves of several methods in the region, with a band over the seeds",
    "variables": "the variables a, b, gamma, s and s' during training, beside their optima",
    "gains": "gains over the baseline with their intervals, from tables of comparisons",
}
"""The figures and what they show."""

DESCRIPTION = """\
Draw a figure of the paper: as PNG and as PDF, at the width of a column, with the data behind it as CSV. Named runs,
or directories of `pauc compare`, are drawn as they are. Without any, the figure trains what it needs, by default on
data that need no download, in about a minute; the same command goes on after an interruption. Only `gains` trains
nothing: it draws the tables of comparisons.

  pauc figure convergence                                # trains and draws
  pauc figure roc runs/compare --out figures             # draws the runs of a comparison
  pauc figure scores ours=runs/DigitsLT-UPAUCI/version_0 # draws one run, under a name of your own
  pauc figure gains runs/compare runs/other              # draws what the methods of two comparisons gained
"""


def main(argv: Sequence[str], run_pauc: RunPauc) -> None:
    """Draw the figure that is named first with the options that follow.

    Args:
        argv: The command's words.
        run_pauc: The ``pauc`` command itself, which trains.
    """
    width = max(map(len, FIGURES))
    parser = PlainParser(
        prog="pauc figure",
        usage="pauc figure NAME [RUN ...] [options]",
        description=DESCRIPTION,
        epilog="\n".join(
            [
                "Figures:",
                *(f"  {name:<{width}}  {purpose}" for name, purpose in FIGURES.items()),
                "",
                "`pauc figure NAME --help` shows its options and an example.",
            ]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=tuple(FIGURES), metavar="NAME", help="the figure to draw")
    parser.add_argument("options", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    importlib.import_module(f"{__package__}.{arguments.name}").main(arguments.options, run_pauc)


def said(files: Sequence[Path], following: str) -> None:
    """Say what was written, and what to type next."""
    print(f"\nSaved: {', '.join(map(str, files))}")
    print(f"Next:  {following}", flush=True)
