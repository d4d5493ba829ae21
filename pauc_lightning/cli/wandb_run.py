"""A run in Weights & Biases, beside the run's own directory."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import wandb

from pauc_lightning.cli.runs import release
from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text

_SECONDS = 30
"""Seconds to wait for W&B before the run is refused."""
_NOTE = "wandb.json"
_NOTE_OF_VERSION_0_1 = "wandb_id.txt"


@dataclass(frozen=True)
class WandbRun:
    """What W&B calls a run and where it puts it.

    Args:
        project: Its project.
        name: Its name.
        group: Its group.
        job_type: Its kind: fit, test, warm-up, ...
        labels: Settings by which runs are grouped: data, method, region, ...
        id: Its identity in W&B, by which a resumed run continues its curves.
    """

    project: str
    name: str
    group: str
    job_type: str
    labels: Mapping[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=lambda: secrets.token_hex(4))

    @staticmethod
    def is_noted_in(directory: Path) -> bool:
        """Whether the directory has a run in W&B."""
        return any((directory / name).is_file() for name in (_NOTE, _NOTE_OF_VERSION_0_1))

    def continued_in(self, directory: Path) -> WandbRun:
        """The run that the directory already has in W&B, or else this one.

        A command that resumes a run does not know with which configs it was started, so the first labels stay.
        """
        note, old = directory / _NOTE, directory / _NOTE_OF_VERSION_0_1
        if note.is_file():
            try:
                return WandbRun(**json.loads(note.read_text(encoding="utf-8")))
            except (ValueError, TypeError) as error:
                raise InputError(
                    f"{note} is damaged: delete it, and the run goes on as a new one in W&B."
                ) from error
        identity = old.read_text(encoding="utf-8").strip() if old.is_file() else self.id
        return WandbRun(self.project, self.name, self.group, self.job_type, self.labels, identity)

    def init_arguments(self, offline: bool) -> dict[str, Any]:
        """The arguments of ``wandb.init``, without the directory."""
        return {
            "project": self.project,
            "name": self.name,
            "group": self.group,
            "job_type": self.job_type,
            "id": self.id,
            "resume": "allow",
            # Otherwise the mode of an earlier run of this process would apply.
            "settings": wandb.Settings(
                init_timeout=_SECONDS, mode="offline" if offline else "online", **_often_on_disk()
            ),
        }

    def write(self, directory: Path, identity: str) -> None:
        """Note the run in its directory; ``identity`` is the one that W&B gave it, which a sweep decides."""
        write_text(directory / _NOTE, json.dumps({**asdict(self), "id": identity}, indent=2) + "\n")


def _often_on_disk() -> dict[str, Any]:
    """The setting that keeps what a kill can cost small; without it up to 15 s, or with earlier releases 32 KiB."""
    name = "x_transaction_log_flush_interval"
    return {name: 1.0} if name in getattr(wandb.Settings, "model_fields", {}) else {}


def end_earlier_runs(directory: Path) -> None:
    """End the run of this process in W&B, which would continue otherwise.

    If ``directory`` has a run in W&B, wait until its files are complete: W&B completes them a moment after the end.
    """
    wandb.finish()
    if WandbRun.is_noted_in(directory):
        wandb.teardown()


def not_reached(error: wandb.errors.Error, directory: Path, before: set[Path]) -> InputError:
    """The sentence for a run that W&B refused; what it left in the directory is removed.

    Args:
        error: What W&B raised.
        directory: The directory of the run.
        before: What was in the directory before W&B was asked.
    """
    wandb.teardown()
    for left in contents(directory) - before:
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    release(directory)
    return InputError(
        f"`--wandb=online`: W&B cannot be reached or does not know you ({' '.join(str(error).split())}). Run "
        "`wandb login` first, or use --wandb=offline and `wandb sync` later."
    )


def contents(directory: Path) -> set[Path]:
    """What is in a directory; nothing if it does not exist."""
    return set(directory.iterdir()) if directory.is_dir() else set()
