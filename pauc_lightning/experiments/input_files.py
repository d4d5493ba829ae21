"""Checks that the files and folders which a comparison reads are there, before anything is trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pauc_lightning.data.table_reader import few
from pauc_lightning.errors import InputError
from pauc_lightning.files import home_hint

_MISSING = "does not exist"
_PLURALS = {
    _MISSING: "do not exist",
    "is not a folder": "are no folders",
    "is a folder, not a file": "are folders, not files",
    "is empty": "are empty",
}


@dataclass(frozen=True)
class InputFile:
    """A file or a folder that a training reads.

    Args:
        setting: Its setting.
        path: Its path, as given.
        is_folder: Whether it must be a folder.
    """

    setting: str
    path: str
    is_folder: bool = False

    @property
    def mistake(self) -> str | None:
        """What is wrong, without reading it; None if it may do: the training will say whether it is of use."""
        path = Path(self.path)
        if not path.exists():
            return _MISSING
        if path.is_dir() != self.is_folder:
            return "is not a folder" if self.is_folder else "is a folder, not a file"
        if path.is_file() and path.stat().st_size == 0:
            return "is empty"
        return None

    def __str__(self) -> str:
        return f"`{self.setting}={self.path}`"


def input_files(config: Mapping[str, Any]) -> Iterator[InputFile]:
    """The files and folders that the data and the backbone of a training read.

    A class names those of its arguments that are such paths in ``input_files`` and ``input_folders``.

    Args:
        config: The resolved settings of ``pauc fit``.
    """
    data = config.get("data") or {}
    backbone = (config.get("model") or {}).get("init_args", {}).get("backbone")
    for prefix, part in (("data", data), ("model.backbone", backbone)):
        arguments = part.get("init_args", {}) if isinstance(part, Mapping) else {}
        for kind in ("input_files", "input_folders"):
            for name in _names(part, kind):
                if isinstance(path := arguments.get(name), str):
                    yield InputFile(f"{prefix}.{name}", path, kind == "input_folders")


def _names(part: object, attribute: str) -> tuple[str, ...]:
    """The arguments of a part's class that are input files, or folders."""
    path = part.get("class_path") if isinstance(part, Mapping) else None
    if not isinstance(path, str):
        return ()
    module, _, name = path.rpartition(".")
    kind = getattr(import_module(module), name) if module else None  # already imported, to check the settings
    return getattr(kind, attribute, ())


def check_input_files(files: Mapping[str, Sequence[InputFile]]) -> None:
    """Reject a comparison some of whose data sets cannot be read.

    Args:
        files: The input files by the label of their data set.

    Raises:
        InputError: If any is missing, empty or of the wrong kind. It names these and the data sets that are complete.
    """
    wrong = {label: [file for file in needed if file.mistake] for label, needed in files.items()}
    found: dict[str, dict[str, InputFile]] = {}  # by mistake and name; many data sets may share a file
    for file in (file for some in wrong.values() for file in some):
        found.setdefault(file.mistake or "", {})[str(file)] = file
    if not found:
        return
    said = [_said(mistake, list(names)) for mistake, names in sorted(found.items())]
    missing = list(found.get(_MISSING, {}).values())
    remedies = []
    if missing:
        it = "it" if len(missing) == 1 else "them"
        remedies += [f"put {it} there", f"start in the folder that has {it}"]
    remedies.append("give another path" if sum(map(len, found.values())) == 1 else "give other paths")
    if complete := [label for label, some in wrong.items() if not some]:
        remedies.append(f"compare what is there: --data_sets {' '.join(complete)}")
    advice = ", or ".join(filter(None, (", ".join(remedies[:-1]), remedies[-1])))
    hint = next(filter(None, (home_hint(file.path) for file in missing)), "")
    raise InputError(
        f"The comparison was not started, because {'; '.join(said)}. {advice[0].upper()}{advice[1:]}.{hint}"
    )


def _said(mistake: str, names: list[str]) -> str:
    """Say what is wrong with some files, in the singular or plural."""
    return f"{few(names)} {mistake if len(names) == 1 else _PLURALS[mistake]}"
