"""Entry point of ``pauc``: runs the command and turns mistakes into sentences."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Sequence

from pauc_lightning.cli.nearest import nearest
from pauc_lightning.cli.options import with_underscores
from pauc_lightning.cli.overview import COMMANDS, overview
from pauc_lightning.cli.pages import show_page
from pauc_lightning.errors import InputError


def main(args: Sequence[str] | None = None) -> None:
    """Entry point of ``pauc`` and of ``python -m pauc_lightning``; a user's mistake ends in one sentence.

    With ``PAUC_TRACEBACK=1`` in the environment the traceback is shown as well.
    """
    arguments = list(sys.argv[1:] if args is None else args)
    _silence_other_peoples_noise()
    _find_classes_in_the_current_directory()
    try:
        _run(arguments)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:  # `pauc fit --help | head` has read enough
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # otherwise the exit would complain again
        raise SystemExit(0) from None
    except Exception as error:
        from pauc_lightning.cli.mistakes import sentence

        message = None if os.environ.get("PAUC_TRACEBACK") else sentence(error)
        if message is None:
            raise
        print(f"error: {message}", file=sys.stderr)
        raise SystemExit(2) from None


def _run(arguments: list[str]) -> None:
    """Run the command, and import only that one: most need no Lightning, which takes seconds to import."""
    if arguments == ["--version"]:
        from pauc_lightning import __version__

        print(f"pauc-lightning {__version__}")
        return
    if arguments[:1] == ["help"] and arguments[1:]:  # `pauc help fit` is `pauc fit --help`
        arguments = [*arguments[1:], "--help"]
    if arguments[:1] in (["-h"], ["--help"], ["help"]):
        show_page(overview())
        raise SystemExit(0)
    command = _command(arguments)
    from pauc_lightning.cli.configs import find_and_check

    options = find_and_check(with_underscores(arguments[1:]))
    if command == "configs":
        from pauc_lightning.cli import configs_command

        configs_command.main(options)
    elif command == "benchmark":
        from pauc_lightning.benchmarks import command as benchmark_command

        benchmark_command.main(options)
    elif command == "data":
        from pauc_lightning.cli import data as data_command

        data_command.main(options)
    elif command == "example":
        from pauc_lightning.cli import example as example_command

        example_command.main(options)
    elif command == "features":
        from pauc_lightning.features import command as features_command

        features_command.main(options)
    elif command == "export":
        from pauc_lightning.export import command as export_command

        export_command.main(options)
    elif command == "evaluate":
        from pauc_lightning.cli import evaluate as evaluate_command

        evaluate_command.main(options)
    elif command == "advise":
        from pauc_lightning.advice import command as advice_command

        advice_command.main(options, run_pauc=main)
    elif command == "report":
        from pauc_lightning.report import command as report_command

        report_command.main(options)
    elif command == "compare":
        from pauc_lightning.experiments import compare

        compare.main(options, run_pauc=main)
    elif command == "figure":
        from pauc_lightning.figures import command as figure_command

        figure_command.main(options, run_pauc=main)
    elif command == "tune":
        from pauc_lightning.tuning import command as tune_command

        tune_command.main(options, run_pauc=main)
    else:
        from pauc_lightning.cli.app import PaucCLI
        from pauc_lightning.cli.run_commands import translate

        PaucCLI(
            find_and_check(translate([command, *options])), command
        )  # the run's own config is checked, too


def _command(arguments: Sequence[str]) -> str:
    """The command, which comes first."""
    if not arguments:
        show_page(overview())
        raise InputError(f"No command is given: write `pauc` and one of {', '.join(COMMANDS)}.")
    command = arguments[0]
    if command in COMMANDS:
        return command
    if command.startswith("-"):
        close = nearest(command, ("--help", "--version"))
        raise InputError(
            f"`{command}` is not an option of `pauc`.{close} A command comes first: see `pauc --help`."
        )
    close = nearest(command, COMMANDS)
    raise InputError(f"`{command}` is not a command.{close} The commands are {', '.join(COMMANDS)}.")


def _find_classes_in_the_current_directory() -> None:
    """Let ``--model.backbone my_file.MyNet`` work as with ``python -m``; installed packages come first."""
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())


def _silence_other_peoples_noise() -> None:
    """Hide Lightning's messages that do not help users."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"lightning\.pytorch\.cli")
    warnings.filterwarnings(
        "ignore", message=r"LightningCLI's args parameter"
    )  # the arguments are ours to translate
    warnings.filterwarnings("ignore", message=r".*isinstance\(treespec, LeafSpec\)")
    warnings.filterwarnings(
        "ignore", message=r"The number of training batches .* smaller than the logging interval"
    )
    logging.getLogger("lightning.pytorch.utilities.rank_zero").addFilter(_is_worth_reading)


def _is_worth_reading(record: logging.LogRecord) -> bool:
    """Whether a message is none of these: an advertisement, missing hardware, the end of training, a file twice."""
    text = record.getMessage()
    is_known = text.startswith(("`Trainer.fit` stopped", "Restoring states"))
    return not ("litlogger" in text or "available: False" in text or is_known)
