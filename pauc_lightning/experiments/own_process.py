"""Runs a training on several devices in a process of its own, from which Lightning can start the others.

Lightning starts the processes of a DDP training by repeating the command of the current process. Inside
``pauc compare`` or one of its workers that would be the wrong command.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence

import torch

from pauc_lightning.experiments.live import PIPED, from_line, report

_GRACE = 30
"""Seconds for an interrupted training to save its state."""


def needs_own_process(arguments: Sequence[str]) -> bool:
    """Whether a command names several devices.

    Example:
        >>> [needs_own_process(["fit", f"--trainer.devices={n}"]) for n in ("1", "2", "[3]", "0,1", "auto")]
        [False, True, False, True, True]
    """
    given = [text.partition("=")[2] for text in arguments if text.startswith("--trainer.devices=")]
    if not given:
        return False
    devices = given[-1].strip("[] ")
    return devices != "1" and (given[-1] == devices or re.fullmatch(r"\d+", devices) is None)


class OwnProcessFailed(Exception):
    """Raised when the process of a training ends with an exception or is killed; says the last line of its output."""


def run_in_own_process(arguments: Sequence[str]) -> None:
    """Run ``pauc`` with the arguments; its output is printed here, and its progress reported here.

    Raises:
        SystemExit: If the command rejects its arguments or is interrupted.
        OwnProcessFailed: If it fails in any other way.
    """
    child = subprocess.Popen(
        [sys.executable, "-m", "pauc_lightning", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, PIPED: "1", "OMP_NUM_THREADS": str(torch.get_num_threads())},
        start_new_session=True,  # Ctrl-C comes from here and once only: a second signal would kill the training
    )
    assert child.stdout is not None
    last = ""
    try:
        for line in child.stdout:
            progress = from_line(line)
            if progress is not None:
                report(progress)
                continue
            sys.stdout.write(line)
            last = line.strip() or last
        status = child.wait()
    except BaseException:
        sys.stdout.write(_stop(child))
        raise
    if status == 1 or status < 0:
        raise OwnProcessFailed(last or f"its process ended with status {status}")
    if status:
        raise SystemExit(status)


def _stop(child: subprocess.Popen[str]) -> str:
    """Let the training save its state and end; return what it printed meanwhile."""
    child.terminate()
    try:
        said, _ = child.communicate(timeout=_GRACE)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        child.kill()
        said, _ = child.communicate()
    return said
