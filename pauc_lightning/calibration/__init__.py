"""From scores to probabilities: calibrators fitted on scores that the model was not trained on. Plain numpy.

``platt``, ``temperature`` and ``isotonic`` hold one calibrator each, with ``logistic`` for the fits and ``log_odds``
for the prior; ``calibration`` holds all three and their file, ``run_calibration`` those of a run.
"""

from pauc_lightning.calibration.calibration import METHODS, Calibration, Method
from pauc_lightning.calibration.calibrator import Calibrator, check_deployment_prior
from pauc_lightning.calibration.isotonic import IsotonicCalibrator
from pauc_lightning.calibration.platt import PlattCalibrator
from pauc_lightning.calibration.run_calibration import read_calibration
from pauc_lightning.calibration.temperature import TemperatureCalibrator

__all__ = [
    "METHODS",
    "Calibration",
    "Calibrator",
    "IsotonicCalibrator",
    "Method",
    "PlattCalibrator",
    "TemperatureCalibrator",
    "check_deployment_prior",
    "read_calibration",
]
