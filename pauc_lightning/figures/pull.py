"""``pauc figure pull``: how strongly each loss pulls each negative down."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.experiments.compare import RunPauc
from pauc_lightning.figures.command import said
from pauc_lightning.figures.fixed_scores import normal_scores, scores_of

if TYPE_CHECKING:
    from torch import Tensor

    from pauc_lightning.objectives import Objective
    from pauc_lightning.plotting.bands import Numbers

_NEAREST = 1e-12
"""How near scores may come to 0 and 1, where logits are infinite."""

DESCRIPTION = """\
Draw how strongly each loss, with its default settings, pulls down each negative: the derivative by its logit, for the
negatives from the highest score to the lowest. Variables, thresholds and averages of a loss are at their optimum for
these scores. The mean over the negatives is 1, so the curves compare shapes and not sizes.

  pauc figure pull                                  # scores of two overlapping normal distributions
  pauc figure pull runs/DigitsLT-UPAUCI/version_0   # the scores of a run on its validation part
"""


def main(argv: Sequence[str], run_pauc: RunPauc) -> None:
    """Draw the figure.

    Args:
        argv: The words after the figure's name.
        run_pauc: Not used, as nothing is trained.
    """
    parser = PlainParser(
        prog="pauc figure pull",
        usage="pauc figure pull [RUN] [options]",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("run", nargs="?", metavar="RUN", help="a run whose scores are used")
    add("--out", default="runs/figures/pull", metavar="DIR", help="where to write the figure")
    add("--max_fpr", type=float, default=0.3, metavar="FPR", help="the region's largest false-positive rate")
    arguments = parser.parse_args(argv)
    from pauc_lightning.figures.output import save_figure
    from pauc_lightning.plotting.pull import plot_pull

    losses = losses_of(arguments.max_fpr)
    scores, labels = normal_scores() if arguments.run is None else scores_of(arguments.run)
    curves = {name: pull_on_negatives(loss, scores, labels) for name, loss in losses.items()}
    rows = [
        {"loss": name, "false_positive_rate": rate, "pull": pull}
        for name, pulls in curves.items()
        for rate, pull in zip(_rates(len(pulls)), pulls.tolist(), strict=True)
    ]
    files = save_figure(Path(arguments.out), "pull", plot_pull(curves, arguments.max_fpr), rows)
    said(files, "pauc compare -c digits --methods ce partial_auc upauci    # what it does to the results")


def losses_of(max_fpr: float) -> dict[str, Objective]:
    """The losses by their names in the figure. At their optimum, SOPA and AGD-SBCD are MB on the same batch."""
    from pauc_lightning import objectives

    return {
        "CE": objectives.CELoss(max_fpr),
        "HardCE": objectives.HardCELoss(max_fpr),
        "PartialAUC": objectives.PartialAUCLoss(max_fpr),
        "PAUCI": objectives.PAUCILoss(max_fpr),
        "UPAUCI": objectives.UPAUCILoss(max_fpr),
        "AUC-M": objectives.AUCMLoss(max_fpr),
        "MB, SOPA, AGD-SBCD": objectives.MBLoss(max_fpr),
        "SOPA-S": objectives.SOPASLoss(max_fpr, train_size=1),
        "AUC-poly": objectives.AUCPolyLoss(max_fpr),
        "AUC-exp": objectives.AUCExpLoss(max_fpr),
    }


def pull_on_negatives(loss: Objective, scores: Tensor, labels: Tensor) -> Numbers:
    """The loss's derivatives by the negatives' logits, divided by their mean, from the highest score to the lowest.

    Args:
        loss: The loss; its variables are set to their optimum for these scores.
        scores: Sigmoid outputs in [0, 1], in float64, shape ``(n,)``.
        labels: 1 for positives, 0 for negatives, shape ``(n,)``.

    Returns:
        The pulls, shape ``(n₋,)``.
    """
    import torch

    from pauc_lightning.objectives import MinimaxObjective
    from pauc_lightning.objectives.saddle_point import saddle_point

    logits = torch.logit(scores, eps=_NEAREST).requires_grad_()
    seen = logits if loss.takes == "logits" else logits.sigmoid()
    loss = loss.double().eval()  # in eval() mode, losses with state use the optimum for this batch
    loss.initialize_(seen.detach(), labels)
    if isinstance(loss, MinimaxObjective):  # initialize_ has set the optimum for an exact selection
        with torch.no_grad():
            for name, value in saddle_point(loss, seen, labels).items():
                loss.get_parameter(name).fill_(value)
    (gradient,) = torch.autograd.grad(loss(seen, labels), logits)
    is_negative = labels == 0
    order = scores[is_negative].argsort(descending=True, stable=True)
    pulls = gradient[is_negative][order]
    result: Numbers = (pulls / pulls.mean()).numpy()
    return result


def _rates(n: int) -> list[float]:
    """The false-positive rate at which each of n negatives stands, from the highest on."""
    return [(place + 0.5) / n for place in range(n)]
