"""On how many devices a job trains, as its arguments and config files say."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from pauc_lightning.cli.configs import find_and_check
from pauc_lightning.cli.given import Given
from pauc_lightning.cli.options import with_underscores
from pauc_lightning.cli.run_commands import translate
from pauc_lightning.errors import InputError

_COMMANDS = ("fit", "resume", "validate", "test", "predict")
_LAUNCHED = ("LOCAL_RANK", "TORCHELASTIC_RUN_ID")
"""Variables of a process that a launcher such as torchrun has started as one of several."""


def with_one_device(arguments: Sequence[str], gpus: int | None = None) -> list[str]:
    """The arguments of a job, with one device if they name none.

    Lightning would train on all GPUs of the machine, and the result would depend on their number.

    Args:
        arguments: The arguments of ``pauc``.
        gpus: GPUs that this process may use; None counts them.

    Example:
        >>> with_one_device(["fit", "-c", "digits"], gpus=4)
        ['fit', '-c', 'digits', '--trainer.devices=1']
        >>> with_one_device(["fit", "--trainer.devices=auto"], gpus=4)
        ['fit', '--trainer.devices=auto']
    """
    gpus = torch.cuda.device_count() if gpus is None else gpus
    if gpus < 2 or arguments[0] not in _COMMANDS or any(True for _ in _named_devices(arguments)):
        return list(arguments)
    return [*arguments, "--trainer.devices=1"]


def is_distributed(arguments: Sequence[str], gpus: int | None = None) -> bool:
    """Whether a job starts several processes: Lightning does so by running the command line of its process again.

    A job that names devices more than once counts if any of them is more than one; it then runs in a process of its own
    without need, which only costs time.

    Args:
        arguments: The arguments of ``pauc``.
        gpus: GPUs that this process may use; None counts them.

    Example:
        >>> is_distributed(["fit", "--trainer.devices", "2"]), is_distributed(["fit", "--trainer.devices=1"])
        (True, False)
        >>> is_distributed(["fit", "--trainer.devices=auto"], gpus=4), is_distributed(["fit"], gpus=4)
        (True, False)
        >>> is_distributed(["fit", "--trainer={devices: [0, 1]}"])
        True
    """
    if any(name in os.environ for name in _LAUNCHED):
        return False
    return any(_count(devices, gpus) > 1 for devices in _named_devices(arguments))


def _named_devices(arguments: Sequence[str]) -> Iterator[Any]:
    """Every value of ``trainer.devices`` in the arguments and in the config files that they name."""
    if not arguments or arguments[0] not in _COMMANDS:
        return
    command, *options = arguments
    try:
        found = find_and_check(translate([command, *find_and_check(with_underscores(options))]))
    except InputError:  # the job will say it
        return
    yield from (setting.value for setting in Given(found).settings if setting.key == "trainer.devices")


def _count(devices: Any, gpus: int | None) -> int:
    """The number of devices that a value of ``trainer.devices`` means."""
    if isinstance(devices, list):
        return len(devices)
    text = str(devices).strip()
    if "," in text:
        return len([part for part in text.split(",") if part.strip()])
    if text in ("auto", "-1"):
        return torch.cuda.device_count() if gpus is None else gpus
    return int(text) if text.isdecimal() else 1
