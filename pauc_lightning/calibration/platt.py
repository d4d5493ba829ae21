"""Platt scaling: a slope and an intercept on the logits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.calibration.calibrator import Calibrator, checked_samples, refuse_reversed
from pauc_lightning.calibration.log_odds import log_odds, logits_to_fit
from pauc_lightning.calibration.logistic import fit_logistic, soft_labels
from pauc_lightning.metrics.functional.inputs import Values


@dataclass(frozen=True)
class PlattCalibrator(Calibrator):
    """Platt scaling, sigmoid(slope · logit + intercept): the one to start with.

    It takes two parameters, so a few dozen positives suffice; it is strictly increasing, so it leaves the ranking as it
    is; and its intercept takes up any shift of the logits, whether from batches with more positives than the data have
    or from a loss that never aimed at probabilities.

    Reference: Platt, *Probabilistic outputs for support vector machines*, 1999; the fit is that of Lin, Lin and Weng,
    *A note on Platt's probabilistic outputs for support vector machines*, 2007,
    https://doi.org/10.1007/s10994-007-5018-6.

    Attributes:
        slope: Factor of the logit, above 0.
        intercept: Number that is added.

    Example:
        >>> calibrator = PlattCalibrator.fit([0.9, 0.6, 0.7, 0.2, 0.1, 0.4], [1, 1, 0, 0, 0, 0])
        >>> calibrator([0.1, 0.9]).round(3).tolist()
        [0.12, 0.681]
    """

    name = "platt"
    slope: float
    intercept: float

    @classmethod
    def fit(cls, scores: Values, target: Values) -> PlattCalibrator:
        """Fit slope and intercept.

        Args:
            scores: Scores in [0, 1] of samples that the model was not trained on.
            target: Labels 0 and 1, of the same shape.

        Raises:
            InputError: If a class is missing, or the scores do not rank the positives above the negatives.
        """
        values, is_positive = checked_samples(scores, target)
        logits = logits_to_fit(values)
        mean, std = float(logits.mean()), float(logits.std())
        refuse_reversed(1.0, constant=bool(np.ptp(logits) == 0))
        # Standardised, as a loss that wants no probabilities may leave logits that hardly differ.
        columns = np.stack([(logits - mean) / std, np.ones_like(logits)], axis=1)
        weights = fit_logistic(columns, soft_labels(is_positive))
        slope = float(weights[0] / std)
        refuse_reversed(slope, constant=False)
        return cls(float(is_positive.mean()), slope, float(weights[1] - slope * mean))

    def log_odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return slope · logit + intercept."""
        return self.slope * log_odds(scores) + self.intercept

    def to_json(self) -> dict[str, Any]:
        """Return slope and intercept."""
        return {"slope": self.slope, "intercept": self.intercept}

    @classmethod
    def from_json(cls, content: Mapping[str, Any], prior: float) -> PlattCalibrator:
        """Build the calibrator whose :meth:`to_json` returned ``content``."""
        return cls(prior, float(content["slope"]), float(content["intercept"]))
