"""The operating points of a run: ``operating_points.json``, and those that follow from its validation scores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pauc_lightning.decisions.operating_points import (
    DELTA,
    ChosenPoint,
    OperatingPoints,
    choose_operating_points,
)
from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text
from pauc_lightning.region import Region
from pauc_lightning.run_directory import RunDirectory
from pauc_lightning.run_files import OPERATING_POINTS, read_validation_scores

_TARGETS = (0.01, 0.05)


def default_targets(max_fpr: float | None = None) -> list[float]:
    """The budgets that thresholds are chosen for unless others are asked for: 1 %, 5 % and the region's largest rate.

    Example:
        >>> default_targets(0.3), default_targets(1.0)
        ([0.01, 0.05, 0.3], [0.01, 0.05])
    """
    own = [max_fpr] if max_fpr is not None and 0 < max_fpr < 1 else []
    return sorted({*_TARGETS, *own})


def write_operating_points(run: Path, points: OperatingPoints) -> Path:
    """Write ``operating_points.json`` into the directory of a run, and return its path."""
    path = run / OPERATING_POINTS
    write_text(path, json.dumps(points.as_json(), indent=2, allow_nan=False) + "\n")
    return path


def read_operating_points(run: str | Path) -> OperatingPoints:
    """Read the thresholds of a run's best model.

    A run that was stopped has no ``operating_points.json`` yet; they are then chosen from its validation scores, as the
    end of its training would have done.

    Args:
        run: The directory of the run.

    Raises:
        InputError: If the file is damaged, or the run has no validation scores.
    """
    run = Path(run)
    path = run / OPERATING_POINTS
    if not path.is_file():
        scores = read_validation_scores(run)
        targets, delta = _settings(run)
        return choose_operating_points(scores.score, scores.label, targets, delta=delta)
    try:
        return OperatingPoints.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"`{path}` is damaged: delete it, and the thresholds are chosen from the validation scores again."
        ) from error


def not_finished(run: str | Path) -> str:
    """A sentence for a run whose training was stopped or still goes on; empty if it ended.

    A training that ends writes the thresholds of its best model, and a better model removes them.

    Args:
        run: The directory of the run.
    """
    run = Path(run)
    if (run / OPERATING_POINTS).is_file() or not any((run / "checkpoints").glob("*.ckpt")):
        return ""
    if (RunDirectory(run).settings().get("decision") or {}).get("after_fit") is False:
        return ""  # the trainings of a comparison write no thresholds
    return f"The run {run} has not finished training: this is its model so far. `pauc resume {run}` continues it."


def operating_point_of_run(run: str | Path, target_fpr: float, *, delta: float | None = None) -> ChosenPoint:
    """The thresholds of a run's best model for one false-positive budget.

    Args:
        run: The directory of the run.
        target_fpr: The budget, in (0, 1). Any will do: those that ``operating_points.json`` does not list are chosen
            from the validation scores.
        delta: Probability with which the guaranteed threshold may exceed the budget; None means the run's.

    Raises:
        InputError: If the budget is out of range, or the run has no validation scores.
    """
    known = read_operating_points(run)
    found = known.find(target_fpr)
    if found is not None and delta in (None, known.delta):
        return found
    scores = read_validation_scores(run)
    wanted = known.delta if delta is None else delta
    return choose_operating_points(scores.score, scores.label, [target_fpr], delta=wanted).points[0]


def region_of_run(run: str | Path) -> Region:
    """The region that a run was trained for; the whole curve if its settings do not say."""
    model = (_config(Path(run)).get("model") or {}).get("init_args") or {}
    return Region(model.get("max_fpr", 1.0), model.get("min_tpr", 0.0))


def _settings(run: Path) -> tuple[Sequence[float], float]:
    """The budgets and the δ that a run was started with; the defaults if it does not say."""
    decision = _config(run).get("decision") or {}
    targets = decision.get("target_fpr")
    targets = [targets] if isinstance(targets, (int, float)) else targets
    return targets or default_targets(region_of_run(run).max_fpr), float(decision.get("delta", DELTA))


def _config(run: Path) -> dict[str, Any]:
    import yaml

    path = run / "config.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None
    return content if isinstance(content, dict) else {}
