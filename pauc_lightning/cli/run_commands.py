"""``pauc resume|test|validate|predict RUN``, written as Lightning's ``-c ... --ckpt_path ...``."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from pauc_lightning.cli import predict
from pauc_lightning.errors import InputError
from pauc_lightning.run_directory import RunDirectory

COMMANDS = ("resume", "test", "validate", "predict")
"""Commands that take a run directory as their first argument."""


def translate(arguments: Sequence[str]) -> list[str]:
    """Write ``COMMAND RUN options`` as the options that Lightning's command line knows.

    Example:
        >>> translate(["fit", "-c", "my.yaml"])
        ['fit', '-c', 'my.yaml']
    """
    command, *rest = arguments
    if command not in COMMANDS:
        return list(arguments)
    if not rest or rest[0].startswith("-"):
        if not rest or (command == "resume" and not any(_asks_for_help(option) for option in rest)):
            raise InputError(
                f"`pauc {command}` needs the run's directory: pauc {command} runs/<name>/version_<n>."
            )
        if command == "predict" and any(option.split("=")[0] == "--input" for option in rest):
            raise InputError(
                "`--input` needs the run's directory: pauc predict runs/<name>/version_<n> --input ..."
            )
        return ["fit" if command == "resume" else command, *rest]
    run, *options = rest
    directory = RunDirectory.open(run)
    config = str(directory.config)
    if command == "resume":
        return ["fit", "-c", config, "--ckpt_path", "last", *options]
    if not any(_asks_for_help(option) for option in options):
        _say_if_not_finished(directory.path)
    if command == "predict":
        options = predict.translate_options(directory.path, options)
    return [command, "-c", config, "--ckpt_path", "best", *options]


def _say_if_not_finished(run: Path) -> None:
    """Print it once for all processes."""
    from lightning.pytorch.utilities import rank_zero_info  # slow to import

    from pauc_lightning.decisions import not_finished

    with contextlib.suppress(InputError):  # a config that cannot be read: the command itself says so
        if note := not_finished(run):
            rank_zero_info(note)


def _asks_for_help(option: str) -> bool:
    name = option.partition("=")[0]
    return name in ("-h", "--help", "--help_all") or name.endswith(".help")
