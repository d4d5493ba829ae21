"""Reads a run's directory for a report. Parts that are missing become sentences, with the command that makes them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pauc_lightning.calibration import Calibration, read_calibration
from pauc_lightning.cli.configs import read_config
from pauc_lightning.cli.run_versions import read_versions
from pauc_lightning.cli.runs import relative
from pauc_lightning.data.preprocessing import FILE_NAME as PREPROCESSING
from pauc_lightning.decisions import read_operating_points
from pauc_lightning.errors import InputError
from pauc_lightning.region import Region
from pauc_lightning.report.subject import Missing, Subject, Threshold, Training
from pauc_lightning.report.thresholds import thresholds_of
from pauc_lightning.report.training import TrainingCurves
from pauc_lightning.run_directory import RunDirectory
from pauc_lightning.run_files import (
    TEST_SCORES,
    SavedScores,
    newest_test,
    read_scores,
    read_validation_scores,
)


def run_subject(path: str | Path, region: Region | None = None, confidence: float = 0.95) -> Subject:
    """Read a run.

    Args:
        path: Its directory.
        region: Judge it in this region; None takes the one that it was trained for.
        confidence: Probability with which intervals cover the true value.

    Raises:
        InputError: If it is not a run, or a file of it is damaged.
    """
    run = RunDirectory.open(str(path))
    settings = read_config(run.config, f"`{run.config}`")
    training = _training(run, settings)
    scores, part, checkpoint = _scores(run.path)
    of_best: Missing | None = None
    if checkpoint not in ("", "best"):
        of_best = Missing(
            f"The newest test evaluated the checkpoint {checkpoint}; thresholds and calibration are those of the best "
            "one.",
            _command("test", run.path),
        )
    return Subject(
        name=training.method,
        place=relative(run.path),
        region=region or _region(run, settings),
        scores=scores,
        part=part,
        checkpoint=checkpoint,
        thresholds=of_best or _thresholds(run.path),
        chosen_on="validation" if part == "test" else "",
        calibration=of_best or _calibration(run.path),
        training=training,
        confidence=confidence,
    )


def _training(run: RunDirectory, settings: Mapping[str, Any]) -> Training:
    arguments = _arguments(settings, "model")
    region = _region(run, settings)
    return Training(
        method=_class_name(run, settings, "model"),
        data=_data_name(run, settings),
        settings=settings,
        text=run.config.read_text(encoding="utf-8"),
        loss_region=_loss_region(region, arguments),
        warmup=float(arguments.get("warmup_epochs") or 0),
        curves=_curves(run.path),
        versions=read_versions(run.path),
        fingerprint=_fingerprint(run.path),
    )


def _scores(run: Path) -> tuple[SavedScores | Missing, str, str]:
    """The scores to show: those of the newest test, else of the validation; the part; and the checkpoint.

    Tests of models that the run no longer has are left out.
    """
    directory = newest_test(run, of_any_checkpoint=True)
    if directory is not None:
        return read_scores(directory / TEST_SCORES), "test", _checkpoint(directory, run)
    try:
        return read_validation_scores(run), "validation", "best"
    except InputError as error:
        return Missing(f"There are no scores. {error}", _command("test", run)), "", ""


def _thresholds(run: Path) -> tuple[Threshold, ...] | Missing:
    try:
        return thresholds_of(read_operating_points(run))
    except InputError as error:
        return Missing(str(error))


def _calibration(run: Path) -> Calibration | Missing:
    try:
        return read_calibration(run)
    except InputError as error:
        return Missing(str(error))


def _checkpoint(test: Path, run: Path) -> str:
    """The name of the checkpoint that was tested; empty if the test does not say."""
    if test == run or not (test / "config.yaml").is_file():
        return "best"  # `pauc fit --test_best` tests no other
    tested = read_config(test / "config.yaml", f"`{test / 'config.yaml'}`").get("ckpt_path")
    return Path(str(tested)).stem if tested else ""


def _region(run: RunDirectory, settings: Mapping[str, Any]) -> Region:
    arguments = _arguments(settings, "model")
    names = [name for name in ("max_fpr", "min_tpr", "min_fpr") if arguments.get(name) is not None]
    if "max_fpr" not in names:
        raise InputError(
            f"`{run.config}` names no region, as `model.init_args.max_fpr` is missing: give it with --max_fpr."
        )
    return Region(**{name: arguments[name] for name in names})


def _loss_region(region: Region, arguments: Mapping[str, Any]) -> Region:
    """The region of the loss, which ``train_max_fpr`` and ``train_min_tpr`` widen."""
    wider = {name: arguments.get(f"train_{name}") for name in ("max_fpr", "min_tpr")}
    bounds = {name: getattr(region, name) if value is None else value for name, value in wider.items()}
    return Region(**bounds, min_fpr=region.min_fpr)


def _curves(run: Path) -> TrainingCurves | Missing:
    path = run / "metrics.csv"
    if not path.is_file():
        return Missing(f"The run has no {path.name}, in which its curves would be.")
    try:
        return TrainingCurves.read(path)
    except InputError as error:
        return Missing(str(error))


def _fingerprint(run: Path) -> str | None:
    """What identifies the division of the data into parts; None for data modules that do not say."""
    try:
        found = json.loads((run / PREPROCESSING).read_text(encoding="utf-8")).get("parts")
    except (OSError, ValueError, AttributeError):
        return None
    return str(found) if found else None


def _arguments(settings: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    found = settings.get(section)
    arguments = found.get("init_args") if isinstance(found, Mapping) else None
    return arguments if isinstance(arguments, Mapping) else {}


def _class_name(run: RunDirectory, settings: Mapping[str, Any], section: str) -> str:
    found = settings.get(section)
    path = found.get("class_path") if isinstance(found, Mapping) else None
    if not path:
        raise InputError(
            f"`{run.config}` names no `{section}.class_path`: it is not the config of a run. Restore it."
        )
    return str(path).rpartition(".")[2]


def _data_name(run: RunDirectory, settings: Mapping[str, Any]) -> str:
    """The table or the folder of a user's own data; otherwise the class, which names the data."""
    arguments, name = _arguments(settings, "data"), _class_name(run, settings, "data")
    own = arguments.get({"TabularLT": "path", "ImageFolderLT": "root"}.get(name, ""))
    return Path(str(own)).name if own else name


def _command(name: str, run: Path) -> str:
    return shlex.join(["pauc", name, relative(run)])
