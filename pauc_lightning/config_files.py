"""Finds config files by name: first the user's own, then those shipped with the project."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from pauc_lightning.errors import InputError

_SUFFIXES = (".yaml", ".yml")
SEARCH_SUFFIX = ".search.yaml"
"""Ends the names of files that say what `pauc tune` varies; they lie beside the configs, but are none."""


def shipped_folder() -> Path:
    """The folder of the shipped configs: inside an installed package, or at the top of a checkout."""
    package = Path(__file__).parent
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


def config_folders() -> tuple[Path, ...]:
    """The folders in which names are looked up: ``configs/`` in the current directory, then the shipped ones."""
    own, shipped = Path("configs"), shipped_folder()
    return (shipped,) if own.is_dir() and own.samefile(shipped) else (own, shipped)


def find_config(name: str) -> Path:
    """The file that ``-c name`` refers to: an existing file, the config of that name, or an existing directory.

    Args:
        name: A path, or a name such as ``digits`` or ``method/upauci``, with or without ``.yaml``.
    """
    given = Path(name)
    if given.is_absolute() or (given.exists() and not given.is_dir()):
        return given
    wanted = given.with_suffix("") if given.suffix in _SUFFIXES else given
    for folder in config_folders():
        found = [path for path in _configs(folder) if _is_called(path, folder, wanted)]
        if len(found) > 1:
            names = ", ".join(_name(path, folder) for path in found)
            raise InputError(f"`{name}` is ambiguous: write one of {names}.")
        if found:
            return found[0]
    if given.is_dir():  # a folder of the user's is no reason to miss a config of the same name
        return given
    known = [_name(path, folder) for folder in config_folders() for path in _configs(folder)]
    near = get_close_matches(wanted.name, [Path(other).name for other in known], n=1)
    hint = f" Did you mean `{near[0]}`?" if near else ""
    raise InputError(
        f"`{name}` is neither a file nor the name of a config.{hint} `pauc configs` lists the names."
    )


def name_of_config(path: str) -> str:
    """The shortest name by which ``-c`` finds a file: that of a config, or the path."""
    given = Path(path)
    for folder in config_folders():
        if given.parent.parent == folder and not Path(given.stem).exists():
            try:
                found = find_config(given.stem)
            except InputError:  # several configs have this name
                return path
            return given.stem if found == given else path
    return path


def list_configs() -> Iterator[tuple[Path, str, str]]:
    """All configs that can be used by name: folder, name within the folder, description."""
    for folder in config_folders():
        for path in _configs(folder):
            yield folder, _name(path, folder), _description(path)


def _configs(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    files = (path for path in folder.rglob("*") if path.suffix in _SUFFIXES)
    return sorted(path for path in files if not path.name.endswith(SEARCH_SUFFIX))


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()


def _is_called(path: Path, folder: Path, wanted: Path) -> bool:
    """Whether the file's name ends in the wanted parts."""
    parts = Path(_name(path, folder)).parts
    return parts[-len(wanted.parts) :] == wanted.parts


def _description(path: Path) -> str:
    """The first sentence of the comment at the top of the file."""
    words: list[str] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if not line.startswith("#"):
            break
        words.append(line.removeprefix("#").strip())
    sentence, dot, _ = " ".join(words).partition(". ")
    return sentence + ("." if dot and not sentence.endswith(".") else "")
