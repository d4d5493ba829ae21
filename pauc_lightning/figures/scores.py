"""``pauc figure scores``: the distribution of the test scores in each class, with the region's thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.compare import RunPauc
from pauc_lightning.experiments.option_values import whole_number
from pauc_lightning.figures.command import said
from pauc_lightning.figures.request import NORMAL, Training, parse
from pauc_lightning.figures.runs import FigureRun, runs_of

if TYPE_CHECKING:
    from pauc_lightning.plotting.score_panels import ScorePanel

DESCRIPTION = """\
Draw how the scores of the test part are distributed: positives upwards, negatives downwards, one panel per method. The
grey band holds the thresholds of the region, so the scores inside decide the partial AUC.

  pauc figure scores --methods ce pauci upauci --region 0.3,0.7
  pauc figure scores runs/DigitsLT-CE/version_0 runs/DigitsLT-UPAUCI/version_0

Runs that are named must have been tested, by `pauc test RUN` or with --test_best.
"""

TRAINING = Training(seeds=("0",), epochs="10", data=NORMAL, about="GaussianLT, with a linear score")


def main(argv: Sequence[str], run_pauc: RunPauc) -> None:
    """Draw the figure.

    Args:
        argv: The words after the figure's name.
        run_pauc: The ``pauc`` command, which trains.
    """
    request = parse("scores", DESCRIPTION, argv, TRAINING, _add_options)
    runs = one_seed(runs_of(request, run_pauc), request.own.seed)
    from pauc_lightning.figures.output import save_figure
    from pauc_lightning.plotting.score_panels import plot_score_panels

    scores = {run: read_panel(run) for run in runs}
    figure = plot_score_panels({_title(run, runs): found for run, found in scores.items()})
    files = save_figure(request.out, "scores", figure, list(_rows(scores)))
    where = request.out if not request.runs else request.runs[0][1]
    said(files, f"pauc figure roc {where}    # the ROC curves of the same runs")


def _add_options(parser: PlainParser) -> None:
    parser.add_argument("--seed", metavar="N", help="the seed to draw, of several (default: the first)")


def one_seed(runs: Sequence[FigureRun], seed: str | None) -> list[FigureRun]:
    """The runs with a seed, by default each method's first: scores of different models are not to be mixed."""
    if seed is None:
        first: dict[tuple[str, str], FigureRun] = {}
        for run in runs:
            first.setdefault((run.method, run.panel), run)
        return list(first.values())
    number = whole_number("--seed", seed, 0)
    chosen = [run for run in runs if run.seed == number]
    if not chosen:
        there = sorted({run.seed for run in runs})
        raise InputError(f"`--seed {seed}`: no such run. The seeds are {', '.join(map(str, there))}.")
    return chosen


def read_panel(run: FigureRun) -> ScorePanel:
    """Read the scores of the newest test of a run's best model."""
    from pauc_lightning.metrics.functional import binary_partial_auc
    from pauc_lightning.plotting.score_panels import ScorePanel
    from pauc_lightning.run_files import read_test_scores

    saved = read_test_scores(run.path)
    value = binary_partial_auc(saved.score, saved.label, run.region.max_fpr, run.region.min_tpr)
    return ScorePanel(saved.score, saved.label, run.region, float(value))


def _title(run: FigureRun, runs: Sequence[FigureRun]) -> str:
    """The name of the method; with the data set where there are several, or with the seed where names are equal."""
    task = f"{run.task}: " if len({other.task for other in runs}) > 1 else ""
    same = [
        other for other in runs if (other.name, other.task, other.region) == (run.name, run.task, run.region)
    ]
    return f"{task}{run.name}{f', seed {run.seed}' if len(same) > 1 else ''}"


def _rows(scores: Mapping[FigureRun, ScorePanel]) -> Iterator[dict[str, object]]:
    for run, found in scores.items():
        for label, score in zip(found.label.tolist(), found.score.tolist(), strict=True):
            yield {
                "task": run.task,
                "method": run.method,
                "max_fpr": run.region.max_fpr,
                "min_tpr": run.region.min_tpr,
                "seed": run.seed,
                "label": int(label),
                "score": score,
            }
