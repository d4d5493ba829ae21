"""The ``pauc`` commands of a comparison: how each cell is checked, trained and continued."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.cells import Cell, Run
from pauc_lightning.experiments.plan import Plan

CALLBACKS = tuple(
    f"--trainer.callbacks+=pauc_lightning.experiments.record.{name}"
    for name in ("RunRecord", "ProgressReporter")
)
FIRST = ("--trainer.devices=1",)
"""Options that configs may override: a cell's results must not depend on the number of devices of the machine."""
DEFAULTS = (
    "--trainer.enable_model_summary=false",
    "--trainer.enable_progress_bar=false",
    "--figures.every_n_epochs=0",
    "--figures.after_evaluation=false",
    "--decision.after_fit=false",
    "--decision.after_evaluation=false",
    "--checkpoint.seconds_between_saves=30",
)
"""Options of every training that a user may override."""


def fit_arguments(
    plan: Plan, cell: Cell, start: Path | None, common: Path | None = None, added: Sequence[str] = ()
) -> list[str]:
    """Build the command that trains a cell.

    Args:
        plan: The comparison.
        cell: The cell.
        start: The checkpoint that a run starts from; None for initial weights.
        common: The file with the experiment's settings for every run, if it has any.
        added: Further options of the cell, such as those that a search has found.

    Returns:
        The arguments of ``pauc``. The comparison's own come last, so that they win.
    """
    own = [
        f"--run_dir={plan.out / cell.task.folder}",
        f"--run_name={cell.name}",
        f"--seed_everything={cell.seed}",
        f"--data.seed={cell.seed}",
        f"--trainer.max_epochs={plan.epochs_of(cell)}",
        *CALLBACKS,
    ]
    if isinstance(cell, Run):
        own += [
            f"--model.max_fpr={cell.region.max_fpr}",
            f"--model.min_tpr={cell.region.min_tpr}",
            "--model.warmup_epochs=0",
            "--test_best=true",
        ]
        if start is not None:
            own += [f"--model.init_weights={start}"]
    return ["fit", *_settings(plan, cell, common), *added, *own]


def resume_arguments(folder: Path) -> list[str]:
    """Build the command that continues an interrupted cell in its directory."""
    return ["resume", str(folder)]


def print_config_arguments(plan: Plan, cell: Cell, common: Path | None = None) -> list[str]:
    """Build the command that checks the options of a cell and prints its settings."""
    return ["fit", *_settings(plan, cell, common), "--print_config"]


def check_config(config: dict[str, Any], command: str = "pauc compare") -> None:
    """Reject settings of ``pauc fit`` without data or a backbone, or with which many runs cannot work."""
    data = config.get("data")
    if not data:
        raise InputError(
            "No data were named: add a config, for example `-c digits` (`pauc configs` lists them)."
        )
    if "seed" not in data.get("init_args", {}):
        raise InputError(
            f"{data.get('class_path')} has no argument `seed`, by which {command} changes the split: add one."
        )
    if not (config.get("model") or {}).get("init_args", {}).get("backbone"):
        raise InputError("No backbone was named: add one, for example `--model.backbone=MLPScorer`.")
    nodes = config["trainer"].get("num_nodes", 1)
    if nodes > 1:
        raise InputError(
            f"`trainer.num_nodes={nodes}`: one of many runs stays on one machine. Several machines train several "
            "runs, with --executor ray or slurm."
        )


def check_validations(config: dict[str, Any], epochs: int) -> None:
    """Reject a training that is too short to be validated, because none of its epochs could be chosen."""
    every = config["trainer"].get("check_val_every_n_epoch")
    if every is not None and every > epochs:
        raise InputError(
            f"`--epochs`: with `trainer.check_val_every_n_epoch: {every}` none of a method's epochs, {epochs}, would "
            f"be validated, so none could be chosen. Give --epochs {every} or more, or "
            "--trainer.check_val_every_n_epoch 1."
        )


def _settings(plan: Plan, cell: Cell, common: Path | None) -> Iterator[str]:
    """Yield the settings in the order in which they win: files, the file's options, the command line's."""
    variants = plan.variants_of(cell)
    yield from FIRST
    for config in (*shared_configs(plan, common), *(path for v in variants for path in v.configs)):
        yield from ("-c", config)
    yield from DEFAULTS
    for variant in variants:
        yield from variant.options
    yield from plan.extra
    for variant in variants:
        yield from variant.last


def shared_configs(plan: Plan, common: Path | None) -> Iterator[str]:
    """Yield the config files of all cells; the experiment's is replaced by its settings for every run."""
    for config in plan.configs:
        if plan.experiment is None or Path(config) != plan.experiment.path:
            yield config
        elif common is not None:
            yield str(common)
