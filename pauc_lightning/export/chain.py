"""The whole model as one module: preprocessing, network, calibration and threshold."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from pauc_lightning.export.calibration_step import CalibrationStep
from pauc_lightning.export.front import Front
from pauc_lightning.export.sigmoid import sigmoid

SCORE, PROBABILITY, DECISION = "score", "probability", "decision"


class ScoringChain(nn.Module):
    """Preprocessing, network, sigmoid, calibration and threshold.

    Args:
        front: The preprocessing.
        network: The network, in evaluation mode.
        calibration: The calibration; None for no probabilities.
        threshold: The smallest score that is called positive; None for no decisions.
    """

    threshold: Tensor | None

    def __init__(
        self, front: Front, network: nn.Module, calibration: CalibrationStep | None, threshold: float | None
    ) -> None:
        super().__init__()
        self.front = front
        self.network = network
        self.calibration = calibration
        # A buffer, as the ONNX exporter rounds Python's floats to float32.
        limit = None if threshold is None else torch.tensor(threshold, dtype=torch.float64)
        self.register_buffer("threshold", limit)

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs, in order."""
        probability = [] if self.calibration is None else [PROBABILITY]
        decision = [] if self.threshold is None else [DECISION]
        return [SCORE, *probability, *decision]

    def forward(self, first: Tensor, second: Tensor | None = None) -> tuple[Tensor, ...]:
        """Return scores and probabilities in float64, and decisions as bool, each of shape ``(n,)``.

        The scores of rows that cannot be scored are NaN, and their decisions false.
        """
        inputs, is_bad = self.front(first, second)
        logits: Tensor = self.network(inputs)
        if logits.ndim == 2:
            logits = logits.squeeze(1)
        logits = logits.to(torch.float64)
        if is_bad is not None:
            logits = torch.where(is_bad, torch.full_like(logits, torch.nan), logits)
        score = sigmoid(logits)
        outputs = [score]
        if self.calibration is not None:
            outputs.append(self.calibration(logits, score))
        if self.threshold is not None:
            outputs.append(score >= self.threshold)
        return tuple(outputs)
