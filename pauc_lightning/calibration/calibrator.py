"""What all calibrators have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.arguments import check_number
from pauc_lightning.calibration.log_odds import prior_log_odds, sigmoid
from pauc_lightning.errors import InputError
from pauc_lightning.metrics.functional.inputs import Values, as_tensors, check_tensors


@dataclass(frozen=True)
class Calibrator(ABC):
    """Turns scores into probabilities; made by ``fit``, from scores that the model was not trained on.

    Attributes:
        prior: Fraction of positives among the samples that it was fitted on.
    """

    name: ClassVar[str]
    """The name in commands and files."""

    prior: float

    def __call__(self, scores: Values, prior: float | None = None) -> NDArray[np.float64]:
        """Return the probabilities of the positive class.

        Args:
            scores: Scores in [0, 1], such as the sigmoid of a network's logits, any shape.
            prior: Fraction of positives where the probabilities will be used, if it is not that of the samples of the
                fit. By Bayes' rule the log-odds move by the difference of the priors' log-odds, provided that
                the positives and the negatives themselves are of the same kind as before.

        Raises:
            InputError: If a score is not in [0, 1], or the prior not in (0, 1).
        """
        check_deployment_prior(prior)
        odds = self.log_odds(checked_scores(scores))
        if prior is not None:
            odds = odds + (prior_log_odds(prior) - prior_log_odds(self.prior))
        return sigmoid(odds)

    @abstractmethod
    def log_odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds of the positive class for scores in [0, 1]."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the parameters apart from the prior as plain numbers and lists."""

    @classmethod
    @abstractmethod
    def from_json(cls, content: Mapping[str, Any], prior: float) -> Calibrator:
        """Build the calibrator whose :meth:`to_json` returned ``content``; raises anything for anything else."""


def check_deployment_prior(prior: Any) -> None:
    """Raise :class:`InputError` unless the prior is None or strictly between 0 and 1."""
    if prior is not None:
        hint = "it is the fraction of positives where the probabilities will be used"
        check_number("prior", prior, above=0, below=1, hint=hint)


def checked_scores(scores: Values) -> NDArray[np.float64]:
    """Return the scores as float64, or raise :class:`InputError` unless all are in [0, 1]."""
    values, _ = as_tensors(scores, [])
    check_tensors(values, values.new_zeros(values.shape))
    array: NDArray[np.float64] = values.detach().double().cpu().numpy()
    if array.size and not (array.min() >= 0 and array.max() <= 1):
        wrong = float(array.min() if array.min() < 0 else array.max())
        raise InputError(
            f"`scores` must be in [0, 1], got {wrong:g}: apply the sigmoid to logits and margins."
        )
    return array


def checked_samples(scores: Values, target: Values) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the scores and which of them are positives, both flat, for a fit; both classes must be there."""
    values, labels = as_tensors(scores, target)
    check_tensors(values, labels)
    is_positive: NDArray[np.bool_] = labels.detach().flatten().cpu().numpy() == 1
    if not 0 < is_positive.sum() < len(is_positive):
        missing = "positive" if not is_positive.any() else "negative"
        raise InputError(
            f"`target` must contain both classes, got no {missing} among {len(is_positive)} labels: a calibration "
            "needs samples of both."
        )
    return checked_scores(values).flatten(), is_positive


def refuse_reversed(slope: float, constant: bool) -> None:
    """Refuse scores that rank the positives no higher than the negatives: the fit would reverse the ranking."""
    if constant:
        raise InputError("`scores` are all equal, so there is nothing to calibrate: train the model first.")
    if not slope > 0:
        raise InputError(
            "`scores` are not higher for positives than for negatives, so a calibration would reverse or flatten the "
            "ranking: check that 1 is the positive label, or train the model longer."
        )
