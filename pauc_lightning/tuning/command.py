"""``pauc tune``: the best settings of methods, found on the validation part with equal budgets."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pauc_lightning.tuning.options import Options, parse
from pauc_lightning.tuning.proposal import check_installed

if TYPE_CHECKING:
    from rich.console import Console

    from pauc_lightning.tuning.result import TuneResult


def main(argv: Sequence[str], run_pauc: Callable[[Sequence[str]], None]) -> None:
    """Search, then print and save the results.

    Args:
        argv: The command's options.
        run_pauc: The ``pauc`` command itself, called with its arguments.

    Raises:
        SystemExit: With status 1 if a method has no trial with a value, 130 if the search was interrupted.
    """
    # Prefer the command as typed: in the options, paths have replaced the configs' names.
    typed = sys.argv[1:] if sys.argv[1:2] == ["tune"] else ["tune", *argv]
    options = parse(argv, shlex.join(["pauc", *typed]))
    check_installed()
    from rich.console import Console

    # Keep the current stream: the output of trainings is captured. A pipe is no terminal, even with FORCE_COLOR.
    console = Console(file=sys.stdout, force_terminal=sys.stdout.isatty(), highlight=False)
    try:
        result = _search(options, run_pauc, console)
    except KeyboardInterrupt:
        print(
            f"\nInterrupted; finished trials are kept. To continue, type:\n  {options.request.command}",
            file=sys.stderr,
        )
        raise SystemExit(130) from None
    _print(result, console)
    if any(of.best is None for of in result.methods.values()):
        raise SystemExit(1)


def _search(options: Options, run_pauc: Callable[[Sequence[str]], None], console: Console) -> TuneResult:
    from pauc_lightning.experiments.executors import executor_for
    from pauc_lightning.tuning.display import watching
    from pauc_lightning.tuning.study import tune

    executor = executor_for(options.executor, options.processes, run_pauc, **options.executor_options)
    with executor, watching(console) as watcher:
        return tune(options.request, executor, watcher)


def _print(result: TuneResult, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    from pauc_lightning.tuning import outputs
    from pauc_lightning.tuning.commands import fit_command

    figure = outputs.save_figure(result)
    if not console.is_terminal:
        print(f"\n{outputs.markdown(result)}")
    else:
        console.print(Text(outputs.title(result)))
        grid = Table(box=None, pad_edge=False, header_style="bold")
        for name in outputs.header():
            grid.add_column(
                name, justify="left" if name in ("method", "best settings") else "right", overflow="fold"
            )
        for row in outputs.rows(result):
            grid.add_row(*map(Text, row))
        console.print(grid)
        for note in outputs.notes(result):
            console.print(Text(note))
    if result.warnings:
        print("\nWarnings:", *(f"  {warning}" for warning in result.warnings), sep="\n")
    found = [of for of in result.methods.values() if of.best is not None]
    out = result.request.out
    files = [*(of.config for of in found), out / "trials.csv", out / "table.md", figure]
    print(f"\nSaved: {', '.join(map(str, files))}")
    if found:
        leader = max(found, key=lambda of: (of.best.value or 0.0) if of.best else 0.0)
        parameters = leader.best.parameters if leader.best else {}
        command = fit_command(result.request, leader.config, parameters, result.request.options)
        print(f"Next:  {shlex.join([*command, '--test_best=true'])}", flush=True)
