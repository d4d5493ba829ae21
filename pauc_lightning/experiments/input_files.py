"""Checks that the files and folders which a comparison reads are there, before anything is trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pauc_lightning.data.table_reader import few
from pauc_lightning.errors import InputError


@dataclass(frozen=True)
class InputFile:
    """A file or a folder that a training reads.

    Args:
        setting: Its setting.
        path: Its path, as given.
    """

    setting: str
    path: str

    @property
    def exists(self) -> bool:
        """Whether there is anything at the path; the training will say whether it is of use."""
        return Path(self.path).exists()

    def __str__(self) -> str:
        return f"`{self.setting}={self.path}`"


def input_files(config: Mapping[str, Any]) -> Iterator[InputFile]:
    """The files and folders that the data and the backbone of a training read.

    A class names those of its arguments that are such paths in ``input_files``.

    Args:
        config: The resolved settings of ``pauc fit``.
    """
    data = config.get("data") or {}
    backbone = (config.get("model") or {}).get("init_args", {}).get("backbone")
    for prefix, part in (("data", data), ("model.backbone", backbone)):
        arguments = part.get("init_args", {}) if isinstance(part, Mapping) else {}
        for name in _names(part):
            if isinstance(path := arguments.get(name), str):
                yield InputFile(f"{prefix}.{name}", path)


def _names(part: object) -> tuple[str, ...]:
    """The arguments of a part's class that are input files."""
    path = part.get("class_path") if isinstance(part, Mapping) else None
    if not isinstance(path, str):
        return ()
    module, _, name = path.rpartition(".")
    kind = getattr(import_module(module), name) if module else None  # already imported, to check the settings
    return getattr(kind, "input_files", ())


def check_input_files(files: Mapping[str, Sequence[InputFile]]) -> None:
    """Reject a comparison some of whose data sets cannot be read.

    Args:
        files: The input files by the label of their data set.

    Raises:
        InputError: If any is missing. It names the missing ones and the data sets that are complete.
    """
    lost = {label: [file for file in needed if not file.exists] for label, needed in files.items()}
    missing = list(dict.fromkeys(str(file) for gone in lost.values() for file in gone))
    if not missing:
        return
    do, it, paths = ("does", "it", "another path") if len(missing) == 1 else ("do", "them", "other paths")
    remedies = [f"Put {it} there", f"start in the folder that has {it}", f"give {paths}"]
    if complete := [label for label, gone in lost.items() if not gone]:
        remedies.append(f"compare what is there: --data_sets {' '.join(complete)}")
    raise InputError(
        f"The comparison was not started, because {few(missing)} {do} not exist. {', '.join(remedies[:-1])}, or "
        f"{remedies[-1]}."
    )
