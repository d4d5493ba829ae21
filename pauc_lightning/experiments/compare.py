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
    from pauc_lightning.experiments.comparison import Comparison

RunPauc = Callable[[Sequence[str]], None]


def main(argv: Sequence[str], run_pauc: RunPauc) -> None:
    """Train the missing runs, then print and save the tables and the figures.

    Args:
        argv: The command's options.
        run_pauc: The ``pauc`` command itself, called with its arguments.
    """
    plan = parse(argv)
    # Prefer the command as typed: in the options, paths have replaced the configs' names.
    typed = sys.argv[1:] if sys.argv[1:2] == ["compare"] else ["compare", *argv]
    make_comparison(plan, run_pauc, shlex.join(["pauc", *typed])).run()


def make_comparison(plan: Plan, run_pauc: RunPauc, command: str) -> Comparison:
    """Make the comparison of a plan, with the executor that the plan asks for.

    Args:
        plan: The comparison.
        run_pauc: The ``pauc`` command itself, called with its arguments.
        command: The command that continues this comparison.
    """
    _check_alone()
    # These load Lightning, which the help does not need.
    from pauc_lightning.experiments.comparison import Comparison
    from pauc_lightning.experiments.executors import Executor, executor_for
    from pauc_lightning.experiments.paper import published

    def executor() -> Executor:
        return executor_for(plan.executor, plan.processes, run_pauc, **plan.executor_options)

    return Comparison(plan, run_pauc, command, executor, published)


def _check_alone() -> None:
    """Reject a start by torchrun, whose processes would all run the whole comparison."""
    if "TORCHELASTIC_RUN_ID" in os.environ or int(os.environ.get("WORLD_SIZE") or 1) > 1:
        raise InputError(
            "`pauc compare` starts the processes of its runs itself: start it once, without torchrun, and give "
            "--trainer.devices for runs on several devices, or --processes for several runs at a time."
        )
