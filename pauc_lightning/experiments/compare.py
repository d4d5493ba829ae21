"""``pauc compare``: methods side by side from the same warm-up, with several seeds, in one table."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.experiments.request import parse

if TYPE_CHECKING:
    from pauc_lightning.experiments.executors import Executor


def main(argv: Sequence[str], run_pauc: Callable[[Sequence[str]], None]) -> None:
    """Train the missing runs, then print and save the tables and the figures.

    Args:
        argv: The command's options.
        run_pauc: The ``pauc`` command itself, called with its arguments.
    """
    plan = parse(argv)
    _check_alone()
    from pauc_lightning.experiments.comparison import (
        Comparison,
    )  # loads Lightning, which the help does not need

    # Prefer the command as typed: in the options, paths have replaced the configs' names.
    typed = sys.argv[1:] if sys.argv[1:2] == ["compare"] else ["compare", *argv]
    command = shlex.join(["pauc", *typed])
    Comparison(plan, run_pauc, command, _executor(plan, run_pauc)).run()


def _executor(plan: Plan, run_pauc: Callable[[Sequence[str]], None]) -> Executor:
    from pauc_lightning.experiments.executors import executor_for

    return executor_for(plan.executor, plan.processes, run_pauc)


def _check_alone() -> None:
    """Reject a start by torchrun, whose processes would all run the whole comparison."""
    if "TORCHELASTIC_RUN_ID" in os.environ or int(os.environ.get("WORLD_SIZE") or 1) > 1:
        raise InputError(
            "`pauc compare` starts the processes of its runs itself: start it once, without torchrun, and give "
            "--trainer.devices for runs on several devices, or --processes for several runs at a time."
        )
