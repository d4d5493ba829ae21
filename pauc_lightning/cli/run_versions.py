"""versions.json: what a run was trained with. A report quotes it."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pauc_lightning import __version__
from pauc_lightning.files import write_text

FILE_NAME = "versions.json"
_PACKAGES = ("torch", "lightning", "torchmetrics", "numpy")


def current_versions() -> dict[str, str]:
    """The versions of Python, of this project and of the packages that decide a training's numbers."""
    return {
        "pauc-lightning": __version__,
        "Python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
    }


def record_versions(run: Path, device: str) -> None:
    """Add the present versions to a run, unless they are those of its last start.

    Args:
        run: The run's directory.
        device: The device that trains.
    """
    known = read_versions(run)
    present = {**current_versions(), "device": device}
    if not known or known[-1] != present:
        write_text(run / FILE_NAME, json.dumps([*known, present], indent=1) + "\n")


def read_versions(run: Path) -> Sequence[Mapping[str, str]]:
    """The versions of each start of a run that had others than the start before; empty if none are recorded."""
    try:
        found = json.loads((run / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    is_known = isinstance(found, list) and all(isinstance(one, dict) for one in found)
    return [{str(name): str(value) for name, value in one.items()} for one in found] if is_known else ()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # imported from a source tree
        return "unknown"
