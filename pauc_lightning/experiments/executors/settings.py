"""The settings that a job's arguments and config files give."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pauc_lightning.cli.configs import find_and_check
from pauc_lightning.cli.given import Given, Setting
from pauc_lightning.cli.options import with_underscores
from pauc_lightning.cli.run_commands import translate
from pauc_lightning.errors import InputError

_COMMANDS = ("fit", "resume", "validate", "test", "predict")


def given_settings(arguments: Sequence[str]) -> Sequence[Setting] | None:
    """All settings of a job; None if it is no command that trains or evaluates, or if it will be refused."""
    if not arguments or arguments[0] not in _COMMANDS:
        return None
    command, *options = arguments
    try:
        return Given(
            find_and_check(translate([command, *find_and_check(with_underscores(options))]))
        ).settings
    except InputError:  # the job itself will say it
        return None


def run_directory(arguments: Sequence[str]) -> Path:
    """The directory below which a job makes its own.

    Example:
        >>> run_directory(["fit", "--run_dir=/shared/runs"]).as_posix()
        '/shared/runs'
    """
    named = [str(setting.value) for setting in given_settings(arguments) or () if setting.key == "run_dir"]
    return Path(os.path.abspath(named[-1] if named else "runs"))
