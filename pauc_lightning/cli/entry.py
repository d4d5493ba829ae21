"""Entry point of ``pauc``: finds the command and turns mistakes into sentences."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import warnings
from collections.abc import Sequence

from pauc_lightning import __version__, data_command
from pauc_lightning.benchmarks import command as benchmark_command
from pauc_lightning.cli import configs_command
from pauc_lightning.cli.app import PaucCLI
from pauc_lightning.cli.configs import find_and_check
from pauc_lightning.cli.help_text import COMMANDS, OVERVIEW, shorten
from pauc_lightning.cli.mistakes import sentence
from pauc_lightning.cli.nearest import nearest
from pauc_lightning.cli.runs import HELP as RUN_HELP
from pauc_lightning.cli.runs import translate
from pauc_lightning.errors import InputError
from pauc_lightning.experiments import compare


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of ``pauc`` and of ``python -m pauc_lightning``; a user's mistake ends in one sentence.

    With ``PAUC_TRACEBACK=1`` in the environment the traceback is shown as well.
    """
    arguments = list(sys.argv[1:] if args is None else args)
    _silence_other_peoples_noise()
    _find_classes_in_the_current_directory()
    try:
        if arguments == ["--version"]:
            print(f"pauc-lightning {__version__}")
            return
        if arguments[:1] in (["-h"], ["--help"], ["help"]):
            print(OVERVIEW, end="")
            raise SystemExit(0)
        _check_command(arguments)
        arguments = find_and_check(arguments)
        if arguments[:1] == ["configs"]:
            configs_command.main(arguments[1:])
        elif arguments[:1] == ["benchmark"]:
            benchmark_command.main(arguments[1:])
        elif arguments[:1] == ["data"]:
            data_command.main(arguments[1:])
        elif arguments[:1] == ["compare"]:
            compare.main(arguments[1:], run_pauc=main)
        else:
            if arguments[1:] in (["-h"], ["--help"]):
                print(RUN_HELP.get(arguments[0], ""), end="")
            _run_cli(find_and_check(translate(arguments)))  # the run's own config is checked, too
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:  # `pauc fit --help | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the exit would complain again
        raise SystemExit(0) from None
    except Exception as error:
        message = None if os.environ.get("PAUC_TRACEBACK") else sentence(error)
        if message is None:
            raise
        print(f"error: {message}", file=sys.stderr)
        raise SystemExit(2) from None


def _check_command(arguments: Sequence[str]) -> None:
    if not arguments:
        print(OVERVIEW)
        raise InputError(f"No command is given: write `pauc` and one of {', '.join(COMMANDS)}.")
    command = arguments[0]
    if not command.startswith("-") and command not in COMMANDS:
        raise InputError(
            f"`{command}` is not a command.{nearest(command, COMMANDS)} The commands are {', '.join(COMMANDS)}."
        )


def _run_cli(arguments: Sequence[str]) -> None:
    if not any(argument.endswith("help") for argument in arguments):
        PaucCLI(arguments)
        return
    text = io.StringIO()
    try:
        with contextlib.redirect_stdout(text):
            PaucCLI(arguments)
    finally:
        print(shorten(text.getvalue()), end="")


def _find_classes_in_the_current_directory() -> None:
    """Let ``--model.backbone my_file.MyNet`` work as with ``python -m``; installed packages come first."""
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())


def _silence_other_peoples_noise() -> None:
    """Hide exactly what Lightning says about its own use of other libraries, and its advertisement."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"lightning\.pytorch\.cli")
    warnings.filterwarnings(
        "ignore", message=r"LightningCLI's args parameter"
    )  # the arguments are ours to translate
    warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\)")
    logging.getLogger("lightning.pytorch.utilities.rank_zero").addFilter(_is_not_advertisement)


def _is_not_advertisement(record: logging.LogRecord) -> bool:
    return "litlogger" not in record.getMessage()
