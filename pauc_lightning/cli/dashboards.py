"""The dashboards of a run: W&B and TensorBoard, as far as they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonargparse import Namespace
from lightning.pytorch import LightningDataModule
from lightning.pytorch.loggers import Logger

from pauc_lightning.cli.labels import Labels
from pauc_lightning.methods import PartialAUCModule


def are_asked_for(config: Namespace) -> bool:
    """Whether a command has a dashboard; one that cannot work is refused."""
    if config.tensorboard:
        from pauc_lightning.cli.tensorboard_run import check_installed

        check_installed()
    return bool(config.wandb != "off" or config.tensorboard)


def dashboard_loggers(
    stage: str,
    config: Namespace,
    model: PartialAUCModule,
    data: LightningDataModule,
    directory: Path,
    first_step: int,
    settings: Mapping[str, Any],
) -> list[Logger]:
    """The loggers of the dashboards.

    Args:
        stage: fit, validate, test or predict.
        config: The command's settings.
        model: The method.
        data: Its data.
        directory: The directory of the run, or of its evaluation.
        first_step: The step from which a run is continued; 0 for a new run.
        settings: The command's settings as plain values.
    """
    labels = Labels.of(config, model, data)
    variables = model.objective.variables()
    monitor, mode = config.checkpoint.monitor, config.checkpoint.mode
    loggers: list[Logger] = []
    if config.wandb != "off":
        from pauc_lightning.cli.wandb_logger import RunWandbLogger  # imports W&B
        from pauc_lightning.cli.wandb_run import WandbRun

        run = WandbRun(
            config.wandb_project,
            _name(directory),
            config.wandb_group or labels.group,
            config.wandb_job_type or stage,
            labels.as_dict(),
        )
        loggers.append(
            RunWandbLogger(
                run, directory, config.wandb == "offline", first_step, variables, monitor, mode, settings
            )
        )
    if config.tensorboard and stage != "predict":
        from pauc_lightning.cli.tensorboard_run import RunTensorBoardLogger

        loggers.append(RunTensorBoardLogger(directory, first_step, variables, labels.as_dict(), monitor))
    return loggers


def _name(directory: Path) -> str:
    """The name of a run in W&B: ``DigitsLT-CE-version_0``, or ``DigitsLT-CE-version_0-test-version_1`` for its test."""
    parts = [*directory.parts[-4:]]
    is_evaluation = len(parts) == 4 and parts[1].startswith("version_")
    return "-".join(parts if is_evaluation else parts[-2:])
