"""Lets ``pauc fit`` check the settings of every kind of cell before anything is trained."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.cells import Cell, Run
from pauc_lightning.experiments.commands import check_config, check_validations, print_config_arguments
from pauc_lightning.experiments.inner_run import InnerRuns, RunFailed
from pauc_lightning.experiments.input_files import InputFile, check_input_files, input_files
from pauc_lightning.experiments.note import common_settings
from pauc_lightning.experiments.plan import Plan


def check_options(plan: Plan, missing: Sequence[Cell], run_pauc: InnerRuns) -> dict[str, Any]:
    """Resolve the settings of each kind of cell once.

    Returns:
        The settings of one of them; empty if none is missing.

    Raises:
        InputError: If ``pauc fit`` rejects the settings of any of them, or a file that it reads does not exist.
    """
    kinds = {cell.kind: cell for cell in reversed(missing)}
    with _common_settings(plan) as common:
        configs = {cell: _check(plan, cell, common, run_pauc) for cell in reversed(kinds.values())}
    if plan.executor in ("process", "processes"):  # other machines may have other files
        check_input_files(_input_files(configs))
    return list(configs.values())[-1] if configs else {}


def _input_files(configs: Mapping[Cell, Mapping[str, Any]]) -> dict[str, list[InputFile]]:
    """The files that the cells read, by the label of their data set."""
    files: dict[str, list[InputFile]] = {}
    for cell, config in configs.items():
        files.setdefault(cell.task.data, []).extend(input_files(config))
    return files


def _check(plan: Plan, cell: Cell, common: Path | None, run_pauc: InnerRuns) -> dict[str, Any]:
    try:
        config: dict[str, Any] = yaml.safe_load(run_pauc(print_config_arguments(plan, cell, common)).text)
        check_config(config)
        if isinstance(cell, Run):
            check_validations(config, plan.epochs_of(cell))
        return config
    except RunFailed as failed:
        if not failed.is_mistake:
            raise
        raise InputError(_named(plan, cell, failed.reason, common)) from failed
    except InputError as error:
        raise InputError(_named(plan, cell, str(error), common)) from error


def _named(plan: Plan, cell: Cell, reason: str, common: Path | None) -> str:
    """Name the task if there are several, and the user's file instead of the temporary one."""
    if common is not None and plan.experiment is not None:
        reason = reason.replace(str(common), str(plan.experiment.path))
    return f"{cell.task.prefix}{reason}"


@contextlib.contextmanager
def _common_settings(plan: Plan) -> Iterator[Path | None]:
    """Write the experiment's settings for every run to a temporary file, if there are any."""
    text = common_settings(plan)
    if not text:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "common.yaml"
        path.write_text(text)
        yield path
