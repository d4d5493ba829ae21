"""Isotonic regression: any non-decreasing curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.calibration.calibrator import Calibrator, checked_samples, refuse_reversed
from pauc_lightning.calibration.log_odds import log_odds
from pauc_lightning.metrics.functional.inputs import Values


@dataclass(frozen=True)
class IsotonicCalibrator(Calibrator):
    """Isotonic regression, the best non-decreasing curve: for a thousand positives or more.

    It takes any shape, and with few positives the shape of chance. The curve has flat steps: samples on one step get
    the same probability, so rank by the score, not by this probability. Between the steps the curve is linear, outside
    the range of the fit constant. No probability is closer to 0 or 1 than 1/(n + 2) for n samples, as those samples
    cannot tell a smaller one from 0.

    Reference: Zadrozny and Elkan, *Transforming classifier scores into accurate multiclass probability estimates*,
    KDD 2002, https://doi.org/10.1145/775047.775151; fitted by scikit-learn.

    Attributes:
        knots: Scores in ascending order.
        values: The probabilities there.

    Example:
        >>> calibrator = IsotonicCalibrator.fit([0.9, 0.6, 0.7, 0.2, 0.1, 0.4], [1, 1, 0, 0, 0, 0])
        >>> calibrator([0.0, 0.6, 0.65, 0.8, 0.9]).round(4).tolist()
        [0.125, 0.5, 0.5, 0.6875, 0.875]
    """

    name = "isotonic"
    knots: tuple[float, ...]
    values: tuple[float, ...]

    @classmethod
    def fit(cls, scores: Values, target: Values) -> IsotonicCalibrator:
        """Fit the curve.

        Args:
            scores: Scores in [0, 1] of samples that the model was not trained on.
            target: Labels 0 and 1, of the same shape.

        Raises:
            InputError: If a class is missing, or the scores do not rank the positives above the negatives.
        """
        from sklearn.isotonic import IsotonicRegression  # slow to import

        values, is_positive = checked_samples(scores, target)
        margin = 1 / (len(values) + 2)
        curve = IsotonicRegression(y_min=margin, y_max=1 - margin, out_of_bounds="clip")
        curve.fit(values, is_positive.astype(np.float64))
        knots, heights = curve.X_thresholds_.tolist(), curve.y_thresholds_.tolist()
        refuse_reversed(heights[-1] - heights[0], constant=bool(np.ptp(values) == 0))
        return cls(float(is_positive.mean()), tuple(knots), tuple(heights))

    def log_odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds of the curve's probability."""
        return log_odds(np.interp(scores, self.knots, self.values))

    def to_json(self) -> dict[str, Any]:
        """Return the knots and the values."""
        return {"scores": list(self.knots), "probabilities": list(self.values)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any], prior: float) -> IsotonicCalibrator:
        """Build the calibrator whose :meth:`to_json` returned ``content``."""
        knots, values = (tuple(map(float, content[key])) for key in ("scores", "probabilities"))
        if (
            len(knots) != len(values)
            or not knots
            or np.any(np.diff(knots) <= 0)
            or np.any(np.diff(values) < 0)
        ):
            raise ValueError("its isotonic curve does not rise")
        return cls(prior, knots, values)
