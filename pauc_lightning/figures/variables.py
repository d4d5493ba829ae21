"""``pauc figure variables``: the variables a, b, γ, s and s' during training, beside their optima."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.compare import RunPauc
from pauc_lightning.figures.command import said
from pauc_lightning.figures.convergence import CALLBACK, finished_epochs
from pauc_lightning.figures.request import Training, parse
from pauc_lightning.figures.runs import FigureRun, runs_of

if TYPE_CHECKING:
    from pauc_lightning.plotting.variables import Trajectory

NAMES = ("a", "b", "gamma", "s_neg", "s_pos")
KINDS = ("end", "saddle", "exact")

DESCRIPTION = """\
Draw the variables of PAUCI's and UPAUCI's objective after each epoch (solid), beside the saddle point of the objective
for the scores that the network has at that moment (dashed). Dotted is the saddle point with exact selection, which has
a closed form; the distance between dashed and dotted is the price of smoothing, by kappa or omega.

  pauc figure variables --methods upauci --region 0.3,0.7
  pauc figure variables runs/figures/convergence

Runs that are named must have been trained with --trainer.callbacks+=pauc_lightning.callbacks.TrainingCurve.
"""

TRAINING = Training(methods=("pauci", "upauci"), region="0.3,0.7", warmup_epochs="5", epochs="30")

Values = dict[int, dict[str, dict[str, float]]]
"""The values by number of finished epochs, kind and variable."""


def main(argv: Sequence[str], run_pauc: RunPauc) -> None:
    """Draw the figure.

    Args:
        argv: The words after the figure's name.
        run_pauc: The ``pauc`` command, which trains.
    """
    request = parse("variables", DESCRIPTION, argv, TRAINING)
    runs = runs_of(request, run_pauc, [CALLBACK])
    values = {run: found for run in runs if (found := read_values(run.path))}
    if not values:
        raise InputError(
            f"`{runs[0].path}` holds no values of the variables. Draw PAUCI or UPAUCI, trained with {CALLBACK}."
        )
    from pauc_lightning.figures.output import save_figure
    from pauc_lightning.plotting.variables import plot_variables

    figure = plot_variables(panels_of(values))
    files = save_figure(request.out, "variables", figure, list(_rows(values)))
    said(files, "pauc figure quantile    # what kappa and omega do to the selection")


def read_values(run: Path) -> Values:
    """Read the variables and their optima from the ``metrics.csv`` of a run; empty if it has none."""
    path = run / "metrics.csv"
    if not path.is_file():
        raise InputError(f"`{run}` has no metrics.csv: train it for an epoch at least.")
    found: Values = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row.get("train/saddle_a"):
                found[finished_epochs(row)] = {
                    kind: {name: float(row[key]) for name in NAMES if row.get(key := f"train/{kind}_{name}")}
                    for kind in KINDS
                }
    return found


def panels_of(values: Mapping[FigureRun, Values]) -> dict[str, dict[str, Trajectory]]:
    """The trajectories of each method, by the title of its panels."""
    from pauc_lightning.plotting.variables import Trajectory

    panels: dict[str, dict[str, Trajectory]] = {}
    for title in dict.fromkeys(f"{run.name}, {run.panel}" for run in values):
        of_method = [found for run, found in values.items() if f"{run.name}, {run.panel}" == title]
        epochs = sorted(set.intersection(*(set(found) for found in of_method)))
        names = [name for name in NAMES if name in of_method[0][epochs[0]]["end"]]
        panels[title] = {
            name: Trajectory(
                np.array(epochs, np.float64),
                {
                    kind: [np.array([found[epoch][kind][name] for epoch in epochs]) for found in of_method]
                    for kind in KINDS
                },
            )
            for name in names
        }
    return panels


def _rows(values: Mapping[FigureRun, Values]) -> Iterator[dict[str, object]]:
    words = {"end": "trained", "saddle": "saddle_point", "exact": "exact_selection"}
    for run, found in values.items():
        for epoch, kinds in found.items():
            for name in kinds["end"]:
                yield {
                    "task": run.task,
                    "method": run.method,
                    "max_fpr": run.region.max_fpr,
                    "min_tpr": run.region.min_tpr,
                    "seed": run.seed,
                    "epochs": epoch,
                    "variable": name,
                    **{words[kind]: kinds[kind][name] for kind in KINDS},
                }
