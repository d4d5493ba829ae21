"""CPU time of importing and of the help pages, as ratios to importing torch and Lightning."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import NamedTuple

from tqdm import tqdm

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError

TORCH, LIGHTNING = "import torch", "import lightning.pytorch.cli"


class Start(NamedTuple):
    """Code for a fresh interpreter.

    Attributes:
        name: Its name in the table.
        code: The code to run.
        reference: The name of the entry that it is compared with.
    """

    name: str
    code: str
    reference: str


def _import(module: str, reference: str) -> Start:
    return Start(f"import {module}", f"import {module}", reference)


def _pauc(arguments: str) -> Start:
    code = f"from pauc_lightning.cli import main; main({arguments.split()!r})"
    return Start(f"pauc {arguments}", code, LIGHTNING)


STARTS = (
    _import("torch", TORCH),
    _import("pauc_lightning.objectives", TORCH),
    _import("pauc_lightning.metrics.functional", TORCH),
    _import("pauc_lightning.optim", TORCH),
    _import("lightning.pytorch.cli", LIGHTNING),
    _import("pauc_lightning.methods", LIGHTNING),
    _pauc("--help"),
    _pauc("--version"),
    _pauc("configs"),
    _pauc("compare --help"),
    _pauc("data --help"),
    _pauc("benchmark --help"),
    _pauc("fit --help"),
)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the CPU time of fresh processes, and its ratio to importing torch or Lightning."""
    parser = PlainParser(prog="pauc benchmark startup", description=main.__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="processes per entry; the median counts")
    repeats = parser.parse_args(argv).repeats
    if repeats < 1:
        raise InputError(f"`--repeats` must be at least 1, got {repeats}.")
    medians = measure(STARTS, repeats)
    print(f"CPU time of a fresh process, median of {repeats}")
    print(f"{'':42}{'seconds':>8}{'ratio':>8}  to")
    for start in STARTS:
        ratio = medians[start.name] / medians[start.reference]
        print(f"{start.name:42}{medians[start.name]:8.2f}{ratio:8.2f}  {start.reference}")


def measure(starts: Sequence[Start], repeats: int) -> dict[str, float]:
    """Median seconds of user and system time for each start, in fresh processes that take turns.

    An uncounted first round fills the caches of the file system.
    """
    seconds: dict[str, list[float]] = {start.name: [] for start in starts}
    rounds = [(turn, start) for turn in range(repeats + 1) for start in starts]
    bar = tqdm(rounds, desc="starting", unit="process", leave=False, disable=None)
    for turn, start in bar:
        elapsed = cpu_seconds(start.code)
        if turn > 0:
            seconds[start.name].append(elapsed)
    return {name: statistics.median(values) for name, values in seconds.items()}


def cpu_seconds(code: str) -> float:
    """User and system time of a fresh interpreter that runs ``code``."""
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    after = os.times()
    if done.returncode != 0:
        raise InputError(f"`python -c {code!r}` failed: {done.stderr.strip().splitlines()[-1]}")
    return after.children_user - before.children_user + after.children_system - before.children_system
