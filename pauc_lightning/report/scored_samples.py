"""Scores from elsewhere: arrays, or a file with a column of labels and one or more of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from numpy.typing import ArrayLike

from pauc_lightning.calibration import Calibration
from pauc_lightning.cli.scored_table import ScoredTable, read_scored_table
from pauc_lightning.decisions import choose_operating_points, default_targets
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.inputs import as_tensors, check_tensors
from pauc_lightning.region import Region
from pauc_lightning.report.subject import Missing, Subject
from pauc_lightning.report.thresholds import thresholds_of
from pauc_lightning.run_files import SavedScores

ENDINGS = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class ScoredSamples:
    """Scores of any model, for a report.

    Args:
        name: The model's name in the report.
        score: Finite scores, one per sample; higher means more positive.
        label: Labels 0 and 1, one per sample.
        validation: Scores and labels of other samples, on which thresholds and calibration are chosen; None chooses
            thresholds on the samples themselves, which makes their rates look a little too good.
        place: Where they come from, as the report says it.
    """

    name: str
    score: ArrayLike
    label: ArrayLike
    validation: tuple[ArrayLike, ArrayLike] | None = None
    place: str = ""

    def subject(self, region: Region, confidence: float = 0.95) -> Subject:
        """Judge them in a region.

        Raises:
            InputError: If scores and labels do not fit together, or a class is missing.
        """
        shown = self._checked(self.score, self.label)
        chosen = shown if self.validation is None else self._checked(*self.validation)
        points = choose_operating_points(chosen.score, chosen.label, default_targets(region.max_fpr))
        return Subject(
            name=self.name,
            place=self.place,
            region=region,
            scores=shown,
            thresholds=thresholds_of(points),
            chosen_on="" if self.validation is None else "validation",
            calibration=Missing("") if self.validation is None else _calibrated(chosen),
            confidence=confidence,
        )

    def _checked(self, score: ArrayLike, label: ArrayLike) -> SavedScores:
        scores, labels = as_tensors(score, label)
        try:
            check_tensors(scores, labels)
        except InputError as error:
            raise InputError(f"`{self.name}`: {error}") from error
        n, n_pos = labels.numel(), int(labels.sum())
        for name, count in (("positives", n_pos), ("negatives", n - n_pos)):
            if count < 2:
                raise InputError(
                    f"`{self.name}` must have at least two {name} for a report, got {count} among {n} samples. "
                    "Add some; positives have the label 1."
                )
        return SavedScores.of(scores.flatten(), labels.flatten())


def read_scored_samples(
    path: Path,
    label: str = "label",
    score: Sequence[str] = ("score",),
    positive: str | None = None,
    thresholds_from: Path | None = None,
) -> list[ScoredSamples]:
    """Read a CSV, TSV or Parquet file, such as ``pauc predict`` writes; each column of scores is a model.

    Args:
        path: The file.
        label: The column of the labels.
        score: The columns of the scores.
        positive: The label of the positives; None for labels 0 and 1.
        thresholds_from: A file with the same columns for other samples, on which thresholds and calibration are chosen.

    Raises:
        InputError: If a file cannot be read, lacks a column, or a value is no number.
    """
    table = read_scored_table("FILE", path, label, score, None, positive)
    other: ScoredTable | None = None
    if thresholds_from is not None:
        if thresholds_from.exists() and path.exists() and path.samefile(thresholds_from):
            raise InputError(
                f"`--thresholds_from {thresholds_from}` is the file of the report, and thresholds look too good on the "
                "samples that they were chosen on: give a file of other samples."
            )
        other = read_scored_table("--thresholds_from", thresholds_from, label, score, None, positive)
    return [
        ScoredSamples(
            path.stem if len(score) == 1 else name,
            table.scores[name],
            table.label,
            None if other is None else (other.scores[name], other.label),
            str(path),
        )
        for name in score
    ]


def _calibrated(samples: SavedScores) -> Calibration | Missing:
    try:
        return Calibration.fit(samples.score, samples.label)
    except InputError as error:
        return Missing(str(error))
