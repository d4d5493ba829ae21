"""``pauc figure roc``: ROC curves of several methods in the region, with a band over the seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.compare import RunPauc
from pauc_lightning.figures.command import said
from pauc_lightning.figures.request import NORMAL, Training, parse
from pauc_lightning.figures.runs import FigureRun, runs_of

if TYPE_CHECKING:
    from pauc_lightning.metrics.functional import RocCurve
    from pauc_lightning.plotting import MethodCurves
    from pauc_lightning.region import Region

DESCRIPTION = """\
Draw the ROC curves on the test part inside the region: the mean over the seeds, and a band that covers all of them. The
labels are the mean partial AUC and its standard deviation over the seeds; the small square is the whole plane.

  pauc figure roc --methods ce sopa pauci upauci --region 0.1
  pauc figure roc runs/compare

Runs that are named must have been tested, by `pauc test RUN` or with --test_best.
"""

TRAINING = Training(region="0.1", epochs="10", data=NORMAL, about="GaussianLT, with a linear score")


def main(argv: Sequence[str], run_pauc: RunPauc) -> None:
    """Draw the figure.

    Args:
        argv: The words after the figure's name.
        run_pauc: The ``pauc`` command, which trains.
    """
    request = parse("roc", DESCRIPTION, argv, TRAINING)
    runs = runs_of(request, run_pauc)
    from pauc_lightning.figures.output import save_figure
    from pauc_lightning.plotting.roc_bands import plot_roc_bands

    curves = {run: read_tested(run) for run in runs}
    files = save_figure(request.out, "roc", plot_roc_bands(panels_of(curves)), list(_rows(curves)))
    where = request.out if not request.runs else request.runs[0][1]
    said(files, f"pauc figure scores {where}    # the distribution of their scores")


def read_tested(run: FigureRun) -> tuple[RocCurve, float]:
    """Read the ROC curve of the newest test of a run's best model, and its partial AUC.

    Raises:
        InputError: If that model has not been tested.
    """
    from pauc_lightning.experiments.note import read_json
    from pauc_lightning.experiments.outcome import read_curve
    from pauc_lightning.metrics.functional import RocCurve, binary_partial_auc
    from pauc_lightning.run_files import is_tested, read_test_scores

    if not is_tested(run.path):  # a comparison by an earlier version keeps the curve alone
        curve = read_curve(run.path)
        if curve is None:
            raise InputError(f"`{run.path}` has not been tested: type `pauc test {run.path}`.")
        return curve, float(read_json(run.path / "test_metrics.json")["pauc"])
    saved = read_test_scores(run.path)
    value = binary_partial_auc(saved.score, saved.label, run.region.max_fpr, run.region.min_tpr)
    return RocCurve.from_scores(saved.score, saved.label).thinned(run.region), float(value)


def panels_of(
    curves: Mapping[FigureRun, tuple[RocCurve, float]],
) -> dict[str, tuple[Region, dict[str, MethodCurves]]]:
    """The curves of each method, by the title of the panel."""
    from pauc_lightning.plotting import MethodCurves

    panels: dict[str, tuple[Region, dict[str, MethodCurves]]] = {}
    for title, region in dict.fromkeys((run.panel, run.region) for run in curves):
        inside = {run: found for run, found in curves.items() if run.panel == title}
        methods = {}
        for name in dict.fromkeys(run.name for run in inside):
            found = [pair for run, pair in inside.items() if run.name == name]
            methods[name] = MethodCurves([curve for curve, _ in found], [value for _, value in found])
        panels[title] = (region, methods)
    return panels


def _rows(curves: Mapping[FigureRun, tuple[RocCurve, float]]) -> Iterator[dict[str, object]]:
    for run, (curve, value) in curves.items():
        for fpr, tpr, threshold in zip(
            curve.fpr.tolist(), curve.tpr.tolist(), curve.thresholds.tolist(), strict=True
        ):
            yield {
                "task": run.task,
                "method": run.method,
                "max_fpr": run.region.max_fpr,
                "min_tpr": run.region.min_tpr,
                "seed": run.seed,
                "pauc": value,
                "fpr": fpr,
                "tpr": tpr,
                "threshold": threshold,
            }
