"""The calibrators as modules that can be exported."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pauc_lightning.calibration import (
    Calibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
)
from pauc_lightning.calibration.log_odds import prior_log_odds
from pauc_lightning.errors import InputError

_SMALLEST = torch.finfo(torch.float64).tiny
_LARGEST = 1 - torch.finfo(torch.float64).eps / 2


class CalibrationStep(nn.Module):
    """Turns float64 scores into probabilities as a calibrator does.

    Args:
        calibrator: The calibrator of the run.
        prior: Fraction of positives where the probabilities will be used; None means that of the calibrator.
    """

    knots: Tensor
    values: Tensor

    def __init__(self, calibrator: Calibrator, prior: float | None) -> None:
        super().__init__()
        self.shift = 0.0 if prior is None else prior_log_odds(prior) - prior_log_odds(calibrator.prior)
        self.is_curve = isinstance(calibrator, IsotonicCalibrator)
        self.slope, self.intercept = 1.0, 0.0
        knots: tuple[float, ...] = (0.0, 1.0)
        values: tuple[float, ...] = (0.0, 1.0)
        if isinstance(calibrator, PlattCalibrator):
            self.slope, self.intercept = calibrator.slope, calibrator.intercept
        elif isinstance(calibrator, TemperatureCalibrator):
            self.slope, self.intercept = 1 / calibrator.temperature, -calibrator.shift
        elif isinstance(calibrator, IsotonicCalibrator):
            knots, values = calibrator.knots, calibrator.values
        else:
            raise InputError(
                f"the calibrator {type(calibrator).__name__} cannot be exported: choose another."
            )
        self.register_buffer("knots", torch.tensor(knots, dtype=torch.float64))
        self.register_buffer("values", torch.tensor(values, dtype=torch.float64))

    def forward(self, score: Tensor) -> Tensor:
        """Return the probabilities, float64 of shape ``(n,)``."""
        if self.is_curve:
            score = self._interpolated(score)
        return torch.sigmoid(self.slope * _log_odds(score) + (self.intercept + self.shift))

    def _interpolated(self, score: Tensor) -> Tensor:
        # Neither ONNX nor torch.export has a binary search, but there are few knots.
        below = (score[:, None] >= self.knots).sum(1) - 1
        left = below.clamp(0, len(self.knots) - 2)
        x0, x1 = self.knots[left], self.knots[left + 1]
        y0, y1 = self.values[left], self.values[left + 1]
        return y0 + ((score - x0) / (x1 - x0)).clamp(0, 1) * (y1 - y0)


def _log_odds(score: Tensor) -> Tensor:
    inside = score.clamp(_SMALLEST, _LARGEST)
    return torch.log(inside) - torch.log1p(-inside)
