"""Temperature scaling, with the prior of the training batches corrected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pauc_lightning.arguments import check_prior
from pauc_lightning.calibration.calibrator import Calibrator, checked_samples, refuse_reversed
from pauc_lightning.calibration.log_odds import log_odds, logits_to_fit, prior_log_odds
from pauc_lightning.calibration.logistic import fit_logistic, soft_labels
from pauc_lightning.metrics.functional.inputs import Values


@dataclass(frozen=True)
class TemperatureCalibrator(Calibrator):
    """Temperature scaling, sigmoid(logit / temperature - shift): for networks trained with cross-entropy.

    A network that learned from batches in which a share π_b of the samples is positive, where the data have π, returns
    log-odds that are too high by logit(π_b) - logit(π), whatever the sample. A temperature alone cannot undo that: it
    only draws logits towards 0. So the shift is taken from the two shares, and only the temperature is fitted. It is
    strictly increasing, and leaves the ranking as it is. A loss of the partial AUC gives logits of no known offset:
    use :class:`PlattCalibrator` for those.

    Reference: Guo, Pleiss, Sun and Weinberger, *On calibration of modern neural networks*, ICML 2017,
    https://proceedings.mlr.press/v70/guo17a.html; the shift is the one of Saerens, Latinne and Decaestecker,
    *Adjusting the outputs of a classifier to new a priori probabilities*, 2002, https://doi.org/10.1162/089976602753284446.

    Attributes:
        temperature: Divisor of the logit, above 0.
        shift: logit(π_b) - logit(π), which is subtracted.

    Example:
        >>> scores, labels = [0.9, 0.6, 0.7, 0.2, 0.1, 0.4], [1, 1, 0, 0, 0, 0]
        >>> calibrator = TemperatureCalibrator.fit(scores, labels, batch_prior=0.5)
        >>> round(calibrator.temperature, 3), round(calibrator.shift, 3)
        (1.572, 0.693)
    """

    name = "temperature"
    temperature: float
    shift: float

    @classmethod
    def fit(cls, scores: Values, target: Values, batch_prior: float | None = None) -> TemperatureCalibrator:
        """Fit the temperature.

        Args:
            scores: Scores in [0, 1] of samples that the model was not trained on.
            target: Labels 0 and 1, of the same shape.
            batch_prior: Fraction of positives in the training batches; None if it was that of these samples.

        Raises:
            InputError: If a class is missing, or the scores do not rank the positives above the negatives.
        """
        check_prior(batch_prior)
        values, is_positive = checked_samples(scores, target)
        prior = float(is_positive.mean())
        shift = 0.0 if batch_prior is None else prior_log_odds(batch_prior) - prior_log_odds(prior)
        logits = logits_to_fit(values)
        refuse_reversed(1.0, constant=bool(np.ptp(logits) == 0))
        scale = float(np.abs(logits).mean())
        (weight,) = fit_logistic((logits / scale)[:, None], soft_labels(is_positive), offset=-shift)
        refuse_reversed(float(weight), constant=False)
        return cls(prior, float(scale / weight), shift)

    def log_odds(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return logit / temperature - shift."""
        return log_odds(scores) / self.temperature - self.shift

    def to_json(self) -> dict[str, Any]:
        """Return temperature and shift."""
        return {"temperature": self.temperature, "shift": self.shift}

    @classmethod
    def from_json(cls, content: Mapping[str, Any], prior: float) -> TemperatureCalibrator:
        """Build the calibrator whose :meth:`to_json` returned ``content``."""
        return cls(prior, float(content["temperature"]), float(content["shift"]))
