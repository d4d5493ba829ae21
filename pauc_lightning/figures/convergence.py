"""``pauc figure convergence``: training curves of several methods, without a warm-up."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.compare import RunPauc
from pauc_lightning.figures.command import said
from pauc_lightning.figures.request import Training, parse
from pauc_lightning.figures.runs import FigureRun, runs_of

if TYPE_CHECKING:
    from pauc_lightning.plotting.convergence import ConvergencePanel

PARTS = {"train": "Training part", "val": "Validation part"}
CALLBACK = "--trainer.callbacks+=pauc_lightning.callbacks.TrainingCurve"
"""Logs the partial AUC on the training part."""

DESCRIPTION = """\
Draw the partial AUC after each epoch, on the training and on the validation part: the mean over the seeds, and a band
that covers all of them. As in the paper there is no warm-up by default, so that methods show how they start. After a
warm-up, curves of the validation part begin at epoch 0 with the model that the method started from.

  pauc figure convergence --methods ce auc_m sopa pauci upauci --region 0.3,0.7
  pauc figure convergence runs/compare

Runs that are named show the validation part; for the training part add
--trainer.callbacks+=pauc_lightning.callbacks.TrainingCurve when you train them.
"""

TRAINING = Training(methods=("ce", "auc_m", "mb", "pauci", "upauci"), warmup_epochs="0", epochs="25")


def main(argv: Sequence[str], run_pauc: RunPauc) -> None:
    """Draw the figure.

    Args:
        argv: The words after the figure's name.
        run_pauc: The ``pauc`` command, which trains.
    """
    request = parse("convergence", DESCRIPTION, argv, TRAINING)
    runs = runs_of(request, run_pauc, [CALLBACK])
    curves = {run: read_curves(run.path) for run in runs}
    from pauc_lightning.figures.output import save_figure
    from pauc_lightning.plotting.convergence import plot_convergence

    figure = plot_convergence(panels_of(curves))
    files = save_figure(request.out, "convergence", figure, list(_rows(curves)))
    where = request.out if not request.runs else request.runs[0][1]
    said(files, f"pauc figure roc {where}    # the ROC curves of the same runs")


def read_curves(run: Path) -> dict[str, dict[int, float]]:
    """Read the partial AUC by part and number of finished epochs from the ``metrics.csv`` of a run.

    With zero epochs it is that of the model that the method started from, which is on the validation part only.

    Raises:
        InputError: If the file is missing, or has no validation in it.
    """
    path = run / "metrics.csv"
    try:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError:
        raise InputError(
            f"`{run}` has no metrics.csv: train it until its first validation has ended."
        ) from None
    curves = {
        part: {finished_epochs(row): float(row[f"{part}/pauc"]) for row in rows if row.get(f"{part}/pauc")}
        for part in PARTS
    }
    if not curves["val"]:
        raise InputError(f"`{path}` holds no validation: train the run until its first validation has ended.")
    return {part: values for part, values in curves.items() if values}


def finished_epochs(row: Mapping[str, str]) -> int:
    """The epochs that were finished at a row of ``metrics.csv``.

    The start of a method has the epoch before its first, as the number -1.0 with ``init_weights``.

    Example:
        >>> finished_epochs({"epoch": "4"}), finished_epochs({"epoch": "-1.0"})
        (5, 0)
    """
    return int(float(row["epoch"])) + 1


def panels_of(curves: dict[FigureRun, dict[str, dict[int, float]]]) -> list[ConvergencePanel]:
    """A panel for each part of each task and region; a method's seeds are drawn as far as all of them have come."""
    from pauc_lightning.plotting.convergence import ConvergencePanel, TrainingCurves

    panels = []
    for title in dict.fromkeys(run.panel for run in curves):
        for part, name in PARTS.items():
            found: dict[str, list[dict[int, float]]] = {}
            for run, by_part in curves.items():
                if run.panel == title and part in by_part:
                    found.setdefault(run.name, []).append(by_part[part])
            methods = {}
            for method, lines in found.items():
                epochs = sorted(set.intersection(*(set(line) for line in lines)))
                values = [np.array([line[epoch] for epoch in epochs]) for line in lines]
                methods[method] = TrainingCurves(np.array(epochs, np.float64), values)
            if methods:
                panels.append(ConvergencePanel(f"{name}, {title}", "Partial AUC", methods))
    return panels


def _rows(curves: dict[FigureRun, dict[str, dict[int, float]]]) -> Iterator[dict[str, object]]:
    for run, by_part in curves.items():
        for part, line in by_part.items():
            for epoch, value in line.items():
                yield {
                    "task": run.task,
                    "method": run.method,
                    "max_fpr": run.region.max_fpr,
                    "min_tpr": run.region.min_tpr,
                    "seed": run.seed,
                    "part": part,
                    "epochs": epoch,
                    "pauc": value,
                }
