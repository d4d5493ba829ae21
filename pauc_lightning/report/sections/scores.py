"""The scores of both classes, and what a threshold does to them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pauc_lightning.report.evaluation import Evaluation
from pauc_lightning.report.figures.scores import distributions, rates_by_threshold, short
from pauc_lightning.report.html import Html
from pauc_lightning.report.parts import beside, figure, figures, key, section, table
from pauc_lightning.report.subject import Threshold
from pauc_lightning.report.words import percent

_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def scores_section(evaluation: Evaluation, thresholds: Sequence[Threshold], id: str, level: int) -> Html:
    """The distribution of the scores, the rates by threshold, and quantiles."""
    lines = " Vertical lines are the thresholds of the table below." if thresholds else ""
    classes = [key("bar positive", "positives"), key("bar negative", "negatives")]
    rates = [key("line positive", "TPR"), key("line negative", "FPR")]
    rows = [
        (
            percent(level),
            *(short(float(np.quantile(of, level))) for of in (evaluation.positives, evaluation.negatives)),
        )
        for level in _LEVELS
    ]
    return section(
        "Scores",
        figures(
            figure(
                distributions(evaluation, thresholds),
                "Where the scores lie",
                f"Share of each class in a bar.{lines}",
                classes,
            ),
            figure(
                rates_by_threshold(evaluation, thresholds),
                "What a threshold does",
                "Share of positives (TPR) and of negatives (FPR) at or above it, on a logarithmic axis.",
                rates,
            ),
            beside(
                table(
                    ("Share below", "Positives", "Negatives"),
                    rows,
                    "Scores that a share of a class is below",
                    "numbers",
                )
            ),
        ),
        id=id,
        level=level,
    )
