"""Evaluation of a run's best model on the part that it was trained on."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from pauc_lightning.files import write_text
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.objectives import UPAUCILoss
from pauc_lightning.region import Region

QUANTITIES = {
    "pauc": "Partial AUC on the training part",
    "risk": "Squared risk on the training part (less is better)",
}


def on_training_part(
    folder: Path, region: Region, run_pauc: Callable[[Sequence[str]], object]
) -> dict[str, float]:
    """Compute the partial AUC and the squared risk of the best model of a run.

    Args:
        folder: The run's directory; ``train_metrics.json`` in it keeps the values.
        region: The region.
        run_pauc: The ``pauc`` command, which scores the training part.

    Returns:
        The values by the keys of :data:`QUANTITIES`.
    """
    known = folder / "train_metrics.json"
    if not known.is_file():
        scores_file = (folder / "train_predictions.csv").resolve()
        run_pauc(
            [
                *("predict", "-c", str(folder / "config.yaml")),
                *("--ckpt_path", str(folder / "checkpoints/best.ckpt")),
                *("--data.predict_part=train", f"--predictions.filename={scores_file}"),
            ]
        )
        scores, labels = _read(scores_file)
        values = {
            "pauc": float(binary_partial_auc(scores, labels.long(), region.max_fpr, region.min_tpr)),
            "risk": squared_risk(scores, labels, region),
        }
        write_text(known, json.dumps(values, indent=2) + "\n")
    result: dict[str, float] = json.loads(known.read_text())
    return result


def _read(predictions: Path) -> tuple[Tensor, Tensor]:
    with predictions.open(newline="") as file:
        rows = [(float(row["score"]), float(row["label"])) for row in csv.DictReader(file)]
    scores, labels = torch.tensor(rows, dtype=torch.float64).unbind(1)
    return scores, labels


def squared_risk(scores: Tensor, labels: Tensor, region: Region) -> float:
    """Compute the mean of (1 − (f₊ − f₋))² over the region's pairs.

    It is one plus the saddle value of the minimax objective.

    Example:
        >>> squared_risk(torch.tensor([0.9, 0.6, 0.2]), torch.tensor([1.0, 0.0, 0.0]), Region(max_fpr=0.5))
        0.4900000...
    """
    objective = UPAUCILoss(region.max_fpr, region.min_tpr, omega=0.0).double()
    objective.initialize_(scores.double(), labels)
    with torch.no_grad():
        return 1 + float(objective(scores.double(), labels))
