"""``pauc compare``: methods side by side from the same warm-up, with several seeds, in one table."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence

from pauc_lightning.experiments.plan import parse


def main(argv: Sequence[str], run_pauc: Callable[[Sequence[str]], None]) -> None:
    """Train the missing runs, then print and save the table and the figure.

    Args:
        argv: The command's options.
        run_pauc: The ``pauc`` command itself, called with its arguments.
    """
    plan = parse(argv)
    from pauc_lightning.experiments.comparison import (
        Comparison,
    )  # loads Lightning, which the help does not need

    # Prefer the command as typed: in the options, paths have replaced the configs' names.
    typed = sys.argv[1:] if sys.argv[1:2] == ["compare"] else ["compare", *argv]
    Comparison(plan, run_pauc, command=shlex.join(["pauc", *typed])).run()
