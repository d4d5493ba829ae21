"""The directory of a training run: what it contains."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pauc_lightning.errors import InputError

_SHOWN = 5  # runs that a message names


@dataclass(frozen=True)
class RunDirectory:
    """The directory of one training run.

    Args:
        path: The directory, such as ``runs/DigitsLT-CE/version_0``.
    """

    path: Path

    @property
    def config(self) -> Path:
        """The settings of the run."""
        return self.path / "config.yaml"

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / "checkpoints"

    @classmethod
    def open(cls, text: str) -> RunDirectory:
        """The run at a path that a user typed; :class:`InputError` suggests a run if there is none at the path."""
        path = Path(text)
        run = cls(path)
        if run.config.is_file():
            return run
        if not path.exists():
            raise InputError(
                f"`{text}`: no such run. {_beside(path) or 'A run is a directory such as runs/DigitsLT-CE/version_0.'}"
            )
        if path.is_file():
            raise InputError(
                f"`{text}` is a file, not a run: give the run's directory, such as runs/DigitsLT-CE/version_0."
            )
        if (path / "comparison.json").is_file():
            runs = sorted(path.glob("**/version_*/test_metrics.json"))
            raise InputError(
                f"`{text}` is a comparison, not a run: name one of its runs"
                f"{f', such as {runs[0].parent}' if runs else ''}."
            )
        versions = [child for child in path.glob("version_*") if (child / "config.yaml").is_file()]
        if versions:
            newest = max(versions, key=lambda child: child.stat().st_mtime)
            raise InputError(
                f"`{text}` is not a run but holds {len(versions)}: name one, for example the newest, {newest}."
            )
        raise InputError(
            f"`{text}` is not a run: it has no config.yaml. Give a directory that `pauc fit` made."
        )

    @classmethod
    def of_config(cls, config: Path) -> RunDirectory | None:
        """The run that contains a config file, if any."""
        run = cls(Path(os.path.abspath(config)).parent)
        return run if run.checkpoints.is_dir() else None

    @classmethod
    def of_checkpoint(cls, checkpoint: Path) -> RunDirectory | None:
        """The run that contains a checkpoint, if any."""
        folder = Path(os.path.abspath(checkpoint)).parent
        return cls(folder.parent) if folder.name == "checkpoints" else None

    @property
    def code(self) -> Path:
        """The folder of the user's own code, if the run has any."""
        return self.path / "code"

    def settings(self) -> dict[str, Any]:
        """The contents of ``config.yaml``."""
        import yaml

        try:
            content = yaml.safe_load(self.config.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            reason = " ".join(str(error).split())
            raise InputError(
                f"`{self.config}` cannot be read ({reason}): restore the file of the run."
            ) from error
        if not isinstance(content, dict) or not {"model", "data"} <= content.keys():
            raise InputError(
                f"`{self.config}` is not the config of a run: give a directory that `pauc fit` made."
            )
        return content

    def checkpoint(self, name: str) -> Path:
        """The checkpoint called ``best`` or ``last``."""
        path = self.checkpoints / f"{name}.ckpt"
        if path.is_file():
            return path
        there = sorted(other.stem for other in self.checkpoints.glob("*.ckpt"))
        if there:
            remedy = f"It has {' and '.join(there)}: use --ckpt_path {there[0]}."
        else:
            remedy = f"It was stopped before its first one: start again with `pauc fit -c {self.config}`."
        raise InputError(f"The run {self.path} has no {name} checkpoint. {remedy}")


def _beside(path: Path) -> str:
    """A sentence with the runs beside a path that does not exist; empty if there are none."""
    for folder in (path.parent, path.parent.parent):
        runs = [
            run.parent for pattern in ("*/config.yaml", "*/*/config.yaml") for run in folder.glob(pattern)
        ]
        if runs:
            newest = sorted(runs, key=lambda run: run.stat().st_mtime, reverse=True)[:_SHOWN]
            more = " and others" if len(runs) > _SHOWN else ""
            return f"There are {', '.join(map(str, newest))}{more}."
    return ""
