"""Evaluation of a run's best model on the parts that it was trained on and selected by."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.table import Best
from pauc_lightning.files import write_text
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.objectives import UPAUCILoss
from pauc_lightning.region import Region

_FILE = "train_metrics.json"
QUANTITIES = {
    "pauc": "Partial AUC on the training part",
    "gap": "Gap between training and validation part (partial AUC on the one minus that on the other)",
    "risk": "Squared risk on the training part (less is better)",
}
BEST: dict[str, Best] = {"pauc": "largest", "gap": "neither", "risk": "smallest"}
"""Which values are good. A small gap is not: that of a network that has learned nothing is zero."""


def on_training_part(
    folder: Path, region: Region, run_pauc: Callable[[Sequence[str]], object]
) -> dict[str, float]:
    """Compute the partial AUC and the squared risk of the best model of a run, and the gap to the validation part.

    Args:
        folder: The run's directory, which keeps the values, too.
        region: The region.
        run_pauc: The ``pauc`` command, which scores the parts.

    Returns:
        The values by the keys of :data:`QUANTITIES`.
    """
    found = _known(folder)
    if "pauc" not in found or "risk" not in found:
        scores, labels = _scores(folder, "train", run_pauc)
        found |= {"pauc": _pauc(scores, labels, region), "risk": squared_risk(scores, labels, region)}
    if "gap" not in found:  # earlier versions did not compute it
        found["gap"] = found["pauc"] - _pauc(*_scores(folder, "val", run_pauc), region)
        write_text(folder / _FILE, json.dumps(found, indent=2) + "\n")
    return found


def is_on_training_part(folder: Path) -> bool:
    """Whether all values of a run are known, so that :func:`on_training_part` has nothing to compute."""
    return set(QUANTITIES) <= set(_known(folder))


def _known(folder: Path) -> dict[str, float]:
    path = folder / _FILE
    if not path.is_file():
        return {}
    try:
        return {str(name): float(value) for name, value in json.loads(path.read_text()).items()}
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"{path} is damaged: delete it, and its values are computed again.") from error


def _scores(folder: Path, part: str, run_pauc: Callable[[Sequence[str]], object]) -> tuple[Tensor, Tensor]:
    """Let the best model of a run score a part; return the scores and the labels."""
    file = (folder / f"{part}_predictions.csv").resolve()
    run_pauc(
        [
            *("predict", "-c", str(folder / "config.yaml")),
            *("--ckpt_path", str(folder / "checkpoints/best.ckpt")),
            *("--trainer.devices=1", "--trainer.strategy=auto"),
            *(
                f"--data.predict_part={part}",
                f"--predictions.filename={file}",
                "--predictions.overwrite=true",
            ),
        ]
    )
    with file.open(newline="") as opened:
        rows = [(float(row["score"]), float(row["label"])) for row in csv.DictReader(opened)]
    scores, labels = torch.tensor(rows, dtype=torch.float64).unbind(1)
    return scores, labels


def _pauc(scores: Tensor, labels: Tensor, region: Region) -> float:
    return float(binary_partial_auc(scores, labels.long(), region.max_fpr, region.min_tpr))


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
