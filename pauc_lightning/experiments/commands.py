"""The ``pauc fit`` command of each cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.cells import Cell, Run
from pauc_lightning.experiments.plan import Plan, method_config

_CALLBACKS = tuple(
    f"--trainer.callbacks+=pauc_lightning.experiments.record.{name}"
    for name in ("RunRecord", "ProgressReporter")
)
_DEFAULTS = (
    "--trainer.enable_model_summary=false",
    "--trainer.enable_progress_bar=false",
    "--figures.every_n_epochs=0",
    "--figures.after_evaluation=false",
    "--checkpoint.seconds_between_saves=30",
)
"""Options of every training that a user may override."""


def fit_arguments(plan: Plan, cell: Cell, start: Path | None) -> list[str]:
    """Build the command that trains a cell.

    Args:
        plan: The comparison.
        cell: The cell.
        start: The checkpoint that a run starts from; None for initial weights.

    Returns:
        The arguments of ``pauc``. The comparison's own come last, so that they win.
    """
    own = [
        f"--run_dir={plan.out}",
        f"--run_name={cell.name}",
        f"--seed_everything={cell.seed}",
        f"--data.seed={cell.seed}",
        f"--trainer.max_epochs={plan.epochs_of(cell)}",
        *_CALLBACKS,
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
    return ["fit", *_common(plan, cell.method), *plan.extra, *own]


def print_config_arguments(plan: Plan, method: str) -> list[str]:
    """Build the command that checks the options of a method's runs and prints their settings."""
    return ["fit", *_common(plan, method), *plan.extra, "--print_config"]


def check_config(config: dict[str, Any]) -> None:
    """Reject settings of ``pauc fit`` without data or a backbone, or with data whose split cannot be changed."""
    data = config.get("data")
    if not data:
        raise InputError(
            "No data were named: add a config, for example `-c digits` (`pauc configs` lists them)."
        )
    if "seed" not in data.get("init_args", {}):
        raise InputError(
            f"{data.get('class_path')} has no argument `seed`, by which pauc compare changes the split: add one."
        )
    if not (config.get("model") or {}).get("init_args", {}).get("backbone"):
        raise InputError("No backbone was named: add one, for example `--model.backbone=MLPScorer`.")


def _common(plan: Plan, method: str) -> list[str]:
    configs = [*plan.configs, str(method_config(method))]
    return [part for config in configs for part in ("-c", config)] + list(_DEFAULTS)
