"""The outcome of a cell: the record of its training, its test result, or its failure."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pauc_lightning.errors import InputError
from pauc_lightning.files import complete_file, write_text
from pauc_lightning.metrics.functional import RocCurve

RECORD = "fit.json"
RESULTS = "test_metrics.json"
CURVE = "test_roc.csv"
_COLUMNS = ["fpr", "tpr", "threshold"]


Number = TypeVar("Number", int, float)


def damaged(path: Path, folder: Path) -> InputError:
    """The error for a file of a run that cannot be read, and that only the run can write again."""
    return InputError(f"{path} is damaged: delete {folder}, and its run is repeated.")


@dataclass(frozen=True)
class Collapse:
    """The text and the step of a collapse warning."""

    step: int
    what: str


@dataclass(frozen=True)
class Record:
    """The record of a training that was not interrupted.

    Args:
        epochs: Number of epochs trained.
        steps: Number of optimizer steps.
        collapses: The collapses that it warned of.
        train_size: Number of training samples, if the data module says it.
        test_size: Number of test samples, if the data module says it.
        best_is_start: Whether the best model is the one that the method started from.
        best_value: The best model's partial AUC on the validation part; None if it was not chosen by that.
    """

    epochs: int
    steps: int
    collapses: tuple[Collapse, ...] = ()
    train_size: int | None = None
    test_size: int | None = None
    best_is_start: bool = False
    best_value: float | None = None

    def write(self, folder: Path) -> None:
        """Write the record into the directory of a run."""
        write_text(folder / RECORD, json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Record | None:
        """Read the record of the run in ``folder``; None if its training was interrupted."""
        path = folder / RECORD
        if not path.is_file():
            return None
        try:
            content = json.loads(path.read_text())
            collapses = tuple(Collapse(**collapse) for collapse in content["collapses"])
            # Earlier versions did not record the following.
            sizes = (_if_known(int, content.get("train_size")), _if_known(int, content.get("test_size")))
            best_is_start = bool(content.get("best_is_start", False))
            best_value = _if_known(float, content.get("best_value"))
            return cls(
                int(content["epochs"]), int(content["steps"]), collapses, *sizes, best_is_start, best_value
            )
        except (
            ValueError,
            KeyError,
            TypeError,
            OverflowError,
        ) as error:  # an integer may be written as infinity
            raise damaged(path, folder) from error


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run: a value, a failure, or neither if it was not run.

    Args:
        value: The partial AUC on the test part.
        collapse: The first collapse in training, if there was one.
        failure: Why there is no value, in a sentence.
        is_start: Whether the value is that of the model that the method started from, as no epoch was better.
        validation: The partial AUC of the same model on the validation part; None if it was not recorded.
        chosen: The method that was chosen, in a row "best of"; empty in those of methods.
        no_choice: Why none can be chosen, in a sentence.
    """

    value: float | None = None
    collapse: Collapse | None = None
    failure: str | None = None
    is_start: bool = False
    validation: float | None = None
    chosen: str = ""
    no_choice: str | None = None


def read_result(folder: Path) -> float:
    """Read the partial AUC of a test from the directory of a run."""
    path = folder / RESULTS
    try:
        return float(json.loads(path.read_text())["pauc"])
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise damaged(path, folder) from error


def _if_known(kind: Callable[[Any], Number], value: Any) -> Number | None:
    return None if value is None else kind(value)


def write_curve(folder: Path, curve: RocCurve) -> None:
    """Write the ROC curve of a test into the directory of a run, with all digits."""
    with complete_file(folder / CURVE) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows(zip(curve.fpr.tolist(), curve.tpr.tolist(), curve.thresholds.tolist(), strict=True))


def read_curve(folder: Path) -> RocCurve | None:
    """Read the ROC curve of a test; None if there is none, as in runs of earlier versions."""
    path = folder / CURVE
    if not path.is_file():
        return None
    try:
        with path.open(newline="") as file:
            rows = [[float(row[name]) for name in _COLUMNS] for row in csv.DictReader(file)]
        fpr, tpr, thresholds = np.array(rows, np.float64).T
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is damaged: delete it, and the figure leaves out this run's curve."
        ) from error
    return RocCurve(fpr, tpr, thresholds)
