"""Adds the scores on the validation part to a run of an earlier version, which did not keep them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pauc_lightning.cli.configs import read_config
from pauc_lightning.cli.runs import relative
from pauc_lightning.errors import InputError
from pauc_lightning.run_directory import RunDirectory
from pauc_lightning.run_files import VALIDATION_SCORES, SavedScores, read_validation_scores

Writer = Callable[[Path, SavedScores], None]

_SAME_SAMPLES = {"num_workers", "eval_batch_size", "batch_size", "predict_part", "predict_input"}
"""Settings of the data that do not change the validation part."""


def add_validation_scores(
    run: Path, checkpoint: str, settings: Mapping[str, Any], scores: SavedScores, write: Writer
) -> None:
    """Keep the scores of a validation, and the thresholds that follow, in its run if that has none of its best model.

    Args:
        run: The directory of the run.
        checkpoint: The checkpoint that was validated.
        settings: The settings of the validation.
        scores: Its scores.
        write: Writes them into the run.
    """
    config = RunDirectory(run).config
    is_best = Path(checkpoint).name == "best.ckpt"
    if not is_best or _has_scores(run) or not config.is_file():
        return
    if _data(read_config(config)) != _data(settings):
        print(
            "The settings of the data differ from the run's, so these scores are not kept as the run's own."
        )
        return
    write(run, scores)
    print(f"Added {relative(run / VALIDATION_SCORES)}, which this run of an earlier version lacked.")


def _has_scores(run: Path) -> bool:
    try:
        read_validation_scores(run)
    except InputError:
        return False
    return True


def _data(settings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The class of the data, without its module, and the settings that decide which samples there are."""
    data = settings.get("data") or {}
    arguments = data.get("init_args") or {}
    return str(data.get("class_path")).rpartition(".")[2], {
        name: value for name, value in arguments.items() if name not in _SAME_SAMPLES
    }
