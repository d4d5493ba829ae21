"""The calibrators of a run, and their file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pauc_lightning.arguments import check_choice
from pauc_lightning.calibration.calibrator import Calibrator, checked_samples
from pauc_lightning.calibration.isotonic import IsotonicCalibrator
from pauc_lightning.calibration.platt import PlattCalibrator
from pauc_lightning.calibration.temperature import TemperatureCalibrator
from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text
from pauc_lightning.metrics.functional.inputs import Values

Method: TypeAlias = Literal["platt", "temperature", "isotonic"]
METHODS: tuple[str, ...] = get_args(Method)

_CLASSES: tuple[type[Calibrator], ...] = (PlattCalibrator, TemperatureCalibrator, IsotonicCalibrator)
_FORMAT = "pauc-lightning calibration, version 1"


@dataclass(frozen=True)
class Calibration:
    """All calibrators, fitted on the same samples; :meth:`method` returns the one to use.

    Attributes:
        n_pos: Number of positives that they were fitted on.
        n_neg: Number of negatives.
        batch_prior: Fraction of positives in the training batches; None if unknown.
        calibrators: The calibrators by their names.
        refused: Why there is no calibrator, by the names of those that could not be fitted.
    """

    n_pos: int
    n_neg: int
    batch_prior: float | None
    calibrators: Mapping[str, Calibrator]
    refused: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def fit(cls, scores: Values, target: Values, batch_prior: float | None = None) -> Calibration:
        """Fit Platt scaling, a temperature and an isotonic curve.

        Args:
            scores: Scores in [0, 1] of samples that the model was not trained on, such as those of the validation part.
            target: Labels 0 and 1, of the same shape.
            batch_prior: Fraction of positives in the training batches, for the temperature; None if it was that of
                these samples.

        Raises:
            InputError: If scores and labels do not fit together, or a class is missing.
        """
        values, is_positive = checked_samples(scores, target)
        fits: dict[str, Callable[[], Calibrator]] = {
            "platt": lambda: PlattCalibrator.fit(values, is_positive),
            "temperature": lambda: TemperatureCalibrator.fit(values, is_positive, batch_prior),
            "isotonic": lambda: IsotonicCalibrator.fit(values, is_positive),
        }
        calibrators: dict[str, Calibrator] = {}
        refused: dict[str, str] = {}
        for name, fit in fits.items():
            try:
                calibrators[name] = fit()
            except InputError as error:
                refused[name] = str(error)
        n_pos = int(is_positive.sum())
        return cls(n_pos, len(values) - n_pos, batch_prior, calibrators, refused)

    @property
    def prior(self) -> float:
        """Fraction of positives among the samples of the fit."""
        return self.n_pos / (self.n_pos + self.n_neg)

    def method(self, name: str) -> Calibrator:
        """Return the calibrator of this name; :class:`InputError` says why if there is none."""
        check_choice("calibrate", name, METHODS)
        if name not in self.calibrators:
            raise InputError(
                f"`calibrate={name}` is not possible: {self.refused.get(name, 'it was not fitted.')}"
            )
        return self.calibrators[name]

    def write(self, path: Path) -> None:
        """Write a JSON file, completely or not at all."""
        content = {
            "format": _FORMAT,
            "n_pos": self.n_pos,
            "n_neg": self.n_neg,
            "batch_prior": self.batch_prior,
            **{name: calibrator.to_json() for name, calibrator in self.calibrators.items()},
            "refused": dict(self.refused),
        }
        write_text(path, json.dumps(content, indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> Calibration:
        """Read a file that :meth:`write` wrote; :class:`InputError` says what is wrong with any other."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(content, dict) or content.get("format") != _FORMAT:
                raise InputError(
                    f"`{path}` is not a calibration of a run: give the file that `pauc fit` wrote."
                )
            return cls._from_json(content)
        except InputError:
            raise
        except OSError as error:
            raise InputError(
                f"`{path}` cannot be read ({error.strerror}): give the file that `pauc fit` wrote."
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
            raise InputError(
                f"`{path}` is damaged ({error!r}): delete it, and it is fitted again from the run's validation scores."
            ) from error

    @classmethod
    def _from_json(cls, content: Mapping[str, Any]) -> Calibration:
        n_pos, n_neg = int(content["n_pos"]), int(content["n_neg"])
        prior = n_pos / (n_pos + n_neg)
        calibrators = {
            kind.name: kind.from_json(content[kind.name], prior) for kind in _CLASSES if kind.name in content
        }
        for name, calibrator in calibrators.items():
            if not all(math.isfinite(value) for value in _numbers(calibrator.to_json())):
                raise ValueError(f"{name} has a number that is not finite")
        return cls(n_pos, n_neg, content["batch_prior"], calibrators, dict(content["refused"]))


def _numbers(content: Mapping[str, Any]) -> list[float]:
    return [
        number for value in content.values() for number in (value if isinstance(value, list) else [value])
    ]
