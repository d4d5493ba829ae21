"""A trained model that scores, gives probabilities and decides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pauc_lightning.arguments import check_choice, check_number
from pauc_lightning.calibration import Calibrator
from pauc_lightning.data.source import Inputs
from pauc_lightning.errors import InputError
from pauc_lightning.inference.inputs import ModelInputs
from pauc_lightning.models.backbone import logits_of
from pauc_lightning.region import Region


class TrainedModel:
    """The model of a run: preprocessing, network, calibration and thresholds in one object; :func:`load` makes it.

    It takes samples in the form of the run's own data:

    - a table: a data frame, a list of records (dicts), the path of a CSV, TSV or Parquet file, or an array with the
      columns of :attr:`columns` in this order, not standardised;
    - images: paths of files, a folder (in the order of its paths), PIL's images, or an array ``(n, channels, height,
      width)`` of bytes, or of fractions in [0, 1];
    - anything else: a tensor or an array ``(n, ...)`` of what the data module's ``eval_transform`` takes.

    Attributes:
        run: The run's directory.
        network: The network, in evaluation mode.
        region: The region of the ROC curve that the model was trained for.
        device: Where the network computes.
        batch_size: Samples that are computed at once.
    """

    def __init__(
        self,
        run: Path,
        network: nn.Module,
        inputs: ModelInputs,
        region: Region,
        calibrator: Calibrator | InputError,
        prior: float | None,
        is_best: bool,
        device: torch.device,
        batch_size: int,
    ) -> None:
        self.run = run
        self.network = network
        self.inputs = inputs
        self.region = region
        self.device = device
        self.batch_size = batch_size
        self._calibrator = calibrator
        self._prior = prior
        self._is_best = is_best

    @property
    def columns(self) -> list[str]:
        """The columns of the table that the model was trained on, in the order of an array; empty for other data."""
        return list(getattr(self.inputs, "columns", ()))

    @property
    def calibrator(self) -> Calibrator:
        """What turns scores into probabilities; :class:`InputError` says why if there is nothing."""
        if isinstance(self._calibrator, InputError):
            raise self._calibrator
        return self._calibrator

    def score(self, samples: Any) -> NDArray[np.float64]:
        """Return the scores: the sigmoid of the network's logits, higher for positives; they rank.

        Args:
            samples: Samples in one of the forms above.

        Returns:
            float64 of shape ``(n,)``, as `pauc predict` writes them.

        Raises:
            InputError: If the samples are not of a form that the model takes, or a score is not finite.
        """
        return self.score_prepared(self.inputs.prepare(samples))

    def score_prepared(self, prepared: Inputs) -> NDArray[np.float64]:
        """Return the scores of what ``inputs.prepare`` returned, or of a part of the run's own data module."""
        scores = [_scores(logits) for logits in self._logits(prepared)]
        result = torch.cat(scores).numpy() if scores else np.empty(0)
        wrong = np.flatnonzero(~np.isfinite(result))
        if len(wrong):
            raise InputError(
                f"{len(wrong)} of {len(result)} samples have a score that is not finite, the first at position "
                f"{wrong[0]}: look for NaN or huge values in them."
            )
        return result

    def predict_proba(self, samples: Any) -> NDArray[np.float64]:
        """Return the calibrated probabilities of the negative and the positive class.

        Args:
            samples: Samples in one of the forms above.

        Returns:
            float64 of shape ``(n, 2)``, as scikit-learn's classifiers do; column 1 is the positive class.

        Raises:
            InputError: If the run has no calibration; otherwise as :meth:`score`.
        """
        positive = self.calibrator(self.score(samples), self._prior)
        return np.stack([1 - positive, positive], axis=1)

    def decide(
        self, samples: Any, target_fpr: float, threshold: str | None = None, delta: float | None = None
    ) -> NDArray[np.bool_]:
        """Return which samples are called positive within a false-positive budget.

        Args:
            samples: Samples in one of the forms above.
            target_fpr: The largest false-positive rate that is wanted on new data, such as 0.01.
            threshold: "guaranteed" for the threshold that keeps the rate on new data with probability 1 - delta,
                "empirical" for the one that keeps it on the validation part; None takes the guaranteed one where the
                validation part has enough negatives.
            delta: Probability with which the guaranteed threshold may exceed the rate; None means the run's.

        Returns:
            bool of shape ``(n,)``.

        Raises:
            InputError: If there is no such threshold; otherwise as :meth:`score`.
        """
        limit = self.threshold(target_fpr, threshold, delta)
        return self.score(samples) >= limit

    def threshold(self, target_fpr: float, threshold: str | None = None, delta: float | None = None) -> float:
        """Return the smallest score that :meth:`decide` calls positive; the arguments are the same."""
        from pauc_lightning.decisions import operating_point_of_run

        check_number("target_fpr", target_fpr, above=0, below=1, hint="for 1 % write 0.01")
        if not self._is_best:
            raise InputError("the thresholds belong to the run's best model: load it with checkpoint='best'.")
        chosen = operating_point_of_run(self.run, target_fpr, delta=delta)
        if threshold is None:
            return chosen.point.threshold
        check_choice("threshold", threshold, ("guaranteed", "empirical"))
        return chosen.of_kind("guaranteed" if threshold == "guaranteed" else "empirical").threshold

    def __repr__(self) -> str:
        """Name the run and the network."""
        return f"TrainedModel({str(self.run)!r}, {type(self.network).__name__}, {self.region.title})"

    def _logits(self, prepared: Inputs) -> Iterator[Tensor]:
        for start in range(0, len(prepared), self.batch_size):
            with torch.inference_mode():
                batch = prepared[start : start + self.batch_size].to(self.device)
                yield logits_of(self.network, self.inputs.transform(batch)).cpu()


def _scores(logits: Tensor) -> Tensor:
    """The sigmoid in float64: in float32 it is exactly 1 for logits above 17, which ties the best samples."""
    return logits.double().sigmoid()
