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
from pauc_lightning.calibration.log_odds import HIGHEST_SCORE, LOWEST_LOGIT, prior_log_odds
from pauc_lightning.errors import InputError
from pauc_lightning.export.sigmoid import odds_of_score, sigmoid


class CalibrationStep(nn.Module):
    """Turns float64 logits and their scores into probabilities as a calibrator does.

    All numbers are float64 buffers: the ONNX exporter rounds Python's floats to float32.

    Args:
        calibrator: The calibrator of the run.
        prior: Fraction of positives where the probabilities will be used; None means that of the calibrator.
    """

    slope: Tensor
    intercept: Tensor
    knots: Tensor
    values: Tensor
    lowest: Tensor
    highest: Tensor

    def __init__(self, calibrator: Calibrator, prior: float | None) -> None:
        super().__init__()
        shift = 0.0 if prior is None else prior_log_odds(prior) - prior_log_odds(calibrator.prior)
        self.is_curve = isinstance(calibrator, IsotonicCalibrator)
        slope, intercept = 1.0, 0.0
        knots: tuple[float, ...] = (0.0, 1.0)
        values: tuple[float, ...] = (0.0, 1.0)
        if isinstance(calibrator, PlattCalibrator):
            slope, intercept = calibrator.slope, calibrator.intercept
        elif isinstance(calibrator, TemperatureCalibrator):
            slope, intercept = 1 / calibrator.temperature, -calibrator.shift
        elif isinstance(calibrator, IsotonicCalibrator):
            knots, values = calibrator.knots, calibrator.values
        else:
            raise InputError(
                f"the calibrator {type(calibrator).__name__} cannot be exported: choose another."
            )
        buffers: dict[str, float | tuple[float, ...]] = {
            "slope": slope,
            "intercept": intercept + shift,
            "knots": knots,
            "values": values,
            "lowest": LOWEST_LOGIT,
            "highest": HIGHEST_SCORE,
        }
        for name, value in buffers.items():
            self.register_buffer(name, torch.tensor(value, dtype=torch.float64))

    def forward(self, logits: Tensor, score: Tensor) -> Tensor:
        """Return the probabilities, float64 of shape ``(n,)``."""
        if self.is_curve:
            value = self._interpolated(score)
            odds = torch.log(value) - torch.log1p(-value)
        else:
            odds = odds_of_score(logits, score, self.lowest, self.highest)
        return sigmoid(self.slope * odds + self.intercept)

    def _interpolated(self, score: Tensor) -> Tensor:
        # Neither ONNX nor torch.export has a binary search, but there are few knots.
        below = (score[:, None] >= self.knots).sum(1) - 1
        left = below.clamp(0, len(self.knots) - 2)
        x0, x1 = self.knots[left], self.knots[left + 1]
        y0, y1 = self.values[left], self.values[left + 1]
        return y0 + ((score - x0) / (x1 - x0)).clamp(0, 1) * (y1 - y0)
