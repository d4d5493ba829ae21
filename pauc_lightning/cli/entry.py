"""Entry point of ``pauc``: finds the command and turns mistakes into sentences."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import warnings
from collections.abc import Sequence

from lightning.fabric.utilities.exceptions import MisconfigurationException

from pauc_lightning import data_command
from pauc_lightning.benchmarks import command as benchmark_command
from pauc_lightning.cli.app import PaucCLI
from pauc_lightning.cli.help_text import shorten
from pauc_lightning.errors import InputError
from pauc_lightning.experiments import compare


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of ``pauc`` and of ``python -m pauc_lightning``; a user's mistake ends in one sentence."""
    arguments = list(sys.argv[1:] if args is None else args)
    _silence_other_peoples_noise()
    try:
        if arguments[:1] == ["benchmark"]:
            benchmark_command.main(arguments[1:])
        elif arguments[:1] == ["data"]:
            data_command.main(arguments[1:])
        elif arguments[:1] == ["compare"]:
            compare.main(arguments[1:], run_pauc=main)
        else:
            # Lightning warns if it gets both; None lets it read sys.argv itself.
            _run_cli(args if arguments else ["--help"], is_help=any(a.endswith("help") for a in arguments))
    except Exception as error:
        cause = _users_mistake(error)
        if cause is None:
            raise
        print(f"error: {cause}", file=sys.stderr)
        raise SystemExit(2) from None


def _run_cli(args: Sequence[str] | None, is_help: bool) -> None:
    if not is_help:
        PaucCLI(args)
        return
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            PaucCLI(args)
    finally:
        print(shorten(text.getvalue()), end="")


def _silence_other_peoples_noise() -> None:
    """Hide exactly what Lightning says about its own use of other libraries, and its advertisement."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"lightning\.pytorch\.cli")
    warnings.filterwarnings("ignore", message=r"LightningCLI's args parameter")  # `pauc compare` calls `main`
    warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\)")
    logging.getLogger("lightning.pytorch.utilities.rank_zero").addFilter(_is_not_advertisement)


def _is_not_advertisement(record: logging.LogRecord) -> bool:
    return "litlogger" not in record.getMessage()


def _users_mistake(error: BaseException | None) -> BaseException | None:
    """The mistake behind an exception, if it is the user's: the parser wraps what constructors raise."""
    while error is not None and not isinstance(error, (InputError, MisconfigurationException)):
        error = error.__cause__ or error.__context__
    return error
