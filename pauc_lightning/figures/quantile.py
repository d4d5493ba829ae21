"""``pauc figure quantile``: the share of negatives that a smoothed objective really selects."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.experiments.compare import RunPauc
from pauc_lightning.figures.command import said
from pauc_lightning.figures.fixed_scores import normal_scores, scores_of

if TYPE_CHECKING:
    from torch import Tensor

    from pauc_lightning.objectives import MinimaxObjective
    from pauc_lightning.plotting.bands import Numbers

KAPPAS = np.geomspace(1.0, 256.0, 33)
OMEGAS = np.geomspace(4.0, 2.0**-8, 31)
SHOWN_KAPPAS = (2.0, 6.0)
"""Between them the paper tunes kappa."""
SHOWN_OMEGAS = (0.1,)

DESCRIPTION = """\
Draw which share of the negatives lies above the threshold of PAUCI, by the sharpness kappa of its softplus, and of
UPAUCI, by the penalty omega on its weights. Each objective is at its saddle point for fixed scores. The share that is
meant is max_fpr; PAUCI reaches it only in the limit of a large kappa, UPAUCI in that of a small omega.

  pauc figure quantile                                  # scores of two overlapping normal distributions
  pauc figure quantile runs/DigitsLT-PAUCI/version_0    # the scores of a run on its validation part
"""


def main(argv: Sequence[str], run_pauc: RunPauc) -> None:
    """Draw the figure.

    Args:
        argv: The words after the figure's name.
        run_pauc: Not used, as nothing is trained.
    """
    parser = PlainParser(
        prog="pauc figure quantile",
        usage="pauc figure quantile [RUN] [options]",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("run", nargs="?", metavar="RUN", help="a run whose scores are used")
    add("--out", default="runs/figures/quantile", metavar="DIR", help="where to write the figure")
    add("--rates", type=float, nargs="+", default=[0.1, 0.3, 0.5], metavar="FPR", help="values of max_fpr")
    add(
        "--shown",
        type=float,
        default=0.3,
        metavar="FPR",
        help="the max_fpr of the panel at the top",
    )
    arguments = parser.parse_args(argv)
    from pauc_lightning.region import Region

    for rate in (*arguments.rates, arguments.shown):
        Region(max_fpr=rate)  # refuses what is no rate
    scores, labels = normal_scores() if arguments.run is None else scores_of(arguments.run)
    _draw(scores, labels, sorted(set(arguments.rates)), arguments.shown, Path(arguments.out))


def selected_share(objective: MinimaxObjective, scores: Tensor, labels: Tensor) -> tuple[float, float]:
    """The share of the negatives whose loss is above the threshold s' at the saddle point, and the lowest such score.

    The loss N grows with the score, because γ ≥ b − 1. If nothing is selected, the score is 1.
    """
    import torch

    from pauc_lightning.objectives.minimax import N
    from pauc_lightning.objectives.saddle_point import saddle_point

    point = saddle_point(objective, scores, labels)
    negatives = scores[labels == 0]
    b, gamma = (torch.tensor(point[name], dtype=scores.dtype) for name in ("b", "gamma"))
    selected = negatives[N(negatives, b, gamma) > point["s_neg"]]
    return len(selected) / len(negatives), float(selected.min()) if len(selected) else 1.0


def _draw(scores: Tensor, labels: Tensor, rates: Sequence[float], shown: float, out: Path) -> None:
    from pauc_lightning.figures.output import save_figure
    from pauc_lightning.objectives import PAUCILoss, UPAUCILoss
    from pauc_lightning.plotting.quantile import Selection, Shares, plot_quantile

    def by_kappa(rate: float, kappa: float) -> MinimaxObjective:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the objective need not be concave in gamma
            return PAUCILoss(rate, kappa=kappa)

    def by_omega(rate: float, omega: float) -> MinimaxObjective:
        return UPAUCILoss(rate, omega=omega)

    default = UPAUCILoss(shown).omega
    objectives = {f"β = {shown:g}": by_omega(shown, 0.0)}
    objectives |= {f"κ = {kappa:g}": by_kappa(shown, kappa) for kappa in SHOWN_KAPPAS}
    objectives |= {f"ω = {omega:g}": by_omega(shown, omega) for omega in SHOWN_OMEGAS}
    lowest = {name: selected_share(made, scores, labels)[1] for name, made in objectives.items()}
    rows: list[dict[str, object]] = []
    panels = []
    for method, symbol, values, make, marked in (
        ("pauci", "kappa", KAPPAS, by_kappa, {"paper's range": (SHOWN_KAPPAS[0], SHOWN_KAPPAS[-1])}),
        ("upauci", "omega", OMEGAS, by_omega, {"default": (default, default)}),
    ):
        shares = {}
        for rate in rates:
            found = [selected_share(make(rate, float(value)), scores, labels) for value in values]
            shares[rate] = np.array([share for share, _ in found])
            rows += list(_rows(method, symbol, rate, values, found))
        panels.append(Shares({"kappa": "PAUCI: κ", "omega": "UPAUCI: ω"}[symbol], values, shares, marked))
    files = save_figure(
        out, "quantile", plot_quantile(Selection(scores[labels == 0].numpy(), lowest), panels), rows
    )
    said(files, "pauc figure sensitivity --variables omega    # what omega does to the results")


def _rows(
    method: str, symbol: str, rate: float, values: Numbers, found: Sequence[tuple[float, float]]
) -> Iterator[dict[str, object]]:
    for value, (share, lowest) in zip(values.tolist(), found, strict=True):
        yield {
            "method": method,
            "setting": symbol,
            "value": value,
            "max_fpr": rate,
            "selected_share": share,
            "lowest_selected_score": lowest,
        }
