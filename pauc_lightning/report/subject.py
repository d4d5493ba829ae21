"""What a report is about: a run, or scores from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pauc_lightning.region import Region
from pauc_lightning.report.evaluation import Evaluation
from pauc_lightning.report.training import TrainingCurves
from pauc_lightning.run_files import SavedScores

if TYPE_CHECKING:
    from pauc_lightning.calibration import Calibration


@dataclass(frozen=True)
class Missing:
    """A part that cannot be shown.

    Args:
        sentence: Why.
        command: What to type to make it; empty if nothing does.
    """

    sentence: str
    command: str = ""


@dataclass(frozen=True)
class Threshold:
    """A threshold that was chosen before the samples of the report were seen, unless it says otherwise.

    Args:
        max_fpr: The false-positive budget that it was chosen for.
        value: Scores of at least this are called positive; NaN if there is none.
        is_guaranteed: Whether it keeps the budget on new data with a guarantee, or only kept it where it was chosen.
        note: Why there is none.
        probability: Probability with which a guaranteed one keeps the budget.
    """

    max_fpr: float
    value: float
    is_guaranteed: bool
    note: str = ""
    probability: float = 0.95


@dataclass(frozen=True)
class Training:
    """How the model of a run was made.

    Args:
        method: The class of the method.
        data: The data: their file or folder, or else their class.
        settings: All settings, as config.yaml holds them.
        text: config.yaml itself.
        loss_region: The region of the loss; it may be wider than that in which the model is judged.
        warmup: Epochs of warm-up.
        curves: What was logged; why not, if it cannot be read.
        versions: The versions of the packages that trained it, as far as they were recorded.
        fingerprint: Identifies the division of the data; two runs with the same one have the same test part.
    """

    method: str
    data: str
    settings: Mapping[str, Any]
    text: str
    loss_region: Region
    warmup: float
    curves: TrainingCurves | Missing
    versions: Sequence[Mapping[str, str]] = ()
    fingerprint: str | None = None


@dataclass(frozen=True)
class Subject:
    """One model in a report.

    Args:
        name: A short name that no other model in the report has.
        place: Its directory or file, as a user would type it.
        region: The region in which it is judged.
        scores: The scores of the part that is shown, or why there are none.
        part: Which part that is: ``test``, ``validation`` or, for scores from elsewhere, empty.
        checkpoint: The checkpoint that made the scores, such as ``best``; empty if unknown.
        thresholds: The thresholds, or why there are none.
        chosen_on: The samples that they were chosen on: ``validation``, or empty for the scores that are shown.
        calibration: The calibrators, or why there are none.
        training: How the model was made; None for scores from elsewhere.
        confidence: Probability with which intervals cover the true value.
    """

    name: str
    place: str
    region: Region
    scores: SavedScores | Missing
    part: str = ""
    checkpoint: str = ""
    thresholds: Sequence[Threshold] | Missing = ()
    chosen_on: str = ""
    calibration: Calibration | Missing = field(default_factory=lambda: Missing("There is no calibration."))
    training: Training | None = None
    confidence: float = 0.95

    @property
    def title(self) -> str:
        """The heading of a report about this model alone."""
        return f"{self.training.method} on {self.training.data}" if self.training else self.name

    @cached_property
    def evaluation(self) -> Evaluation | None:
        """The values and curves of the scores, if there are any."""
        return self.evaluated(self.region)

    def evaluated(self, region: Region) -> Evaluation | None:
        """The values and curves in another region."""
        if isinstance(self.scores, Missing):
            return None
        return Evaluation(self.scores.score, self.scores.label, region, self.confidence)

    def named(self, name: str) -> Subject:
        """The same model under another name."""
        return replace(self, name=name)
