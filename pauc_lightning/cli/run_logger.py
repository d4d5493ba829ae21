"""The directory in which a command writes, and the logger that owns it."""

from __future__ import annotations

import os
from pathlib import Path

from jsonargparse import Namespace

from pauc_lightning.cli.runs import claim_version
from pauc_lightning.loggers import RunLogger
from pauc_lightning.run_directory import RunDirectory


def run_logger(config: Namespace, stage: str, name: str, first_step: int) -> RunLogger:
    """The logger of a command: in the run if it is resumed, below it if it is evaluated, else in a new run.

    Args:
        config: The command's settings.
        stage: fit, validate, test or predict.
        name: The name of a new run.
        first_step: The step from which a run is continued.
    """
    checkpoint = config.get("ckpt_path")
    resumed = continued_run(checkpoint) if stage == "fit" else None
    if resumed is not None:
        return RunLogger(resumed.path, first_step=first_step)
    evaluated = evaluated_run(checkpoint)
    if stage != "fit" and evaluated is not None:
        return RunLogger(evaluated / stage, claim_version)
    return RunLogger(Path(os.path.abspath(config.run_dir)) / name, claim_version)


def continued_run(checkpoint: str | None) -> RunDirectory | None:
    """The run that a ``last.ckpt`` continues. Any other checkpoint starts a new run, which overwrites nothing."""
    if not checkpoint or Path(checkpoint).name != "last.ckpt":
        return None
    return RunDirectory.of_checkpoint(Path(checkpoint))


def evaluated_run(checkpoint: str | None) -> Path | None:
    """The directory of the run that a checkpoint belongs to."""
    run = RunDirectory.of_checkpoint(Path(checkpoint)) if checkpoint else None
    return run.path if run is not None else None
