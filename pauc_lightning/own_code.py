"""The user's own code that a run needs, such as the file of a network: kept with the run, and imported from there."""

from __future__ import annotations

import ast
import importlib
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from pauc_lightning.errors import InputError
from pauc_lightning.files import complete_binary_file

_INSTALLED = [
    Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")
]


def keep_code(folder: Path, classes: Iterable[type]) -> None:
    """Copy the files that define these classes, and those that they import from beside them, into a folder.

    Installed packages are not copied: only files that lie outside of Python's own folders are the user's.

    Args:
        folder: The folder, which is made if there is anything to copy.
        classes: Classes of any origin.
    """
    for cls in classes:
        for name, file in _own_files(cls.__module__).items():
            is_package = file.name == "__init__.py"
            parts = name.split(".")
            target = (
                folder.joinpath(*parts, file.name)
                if is_package
                else folder.joinpath(*parts).with_suffix(".py")
            )
            with file.open("rb") as original, complete_binary_file(target) as copy:
                shutil.copyfileobj(original, copy)


@contextmanager
def code_of(folder: Path, is_trusted: bool) -> Iterator[None]:
    """Import modules from the folder before all others; afterwards they are forgotten, as another run may differ.

    Args:
        folder: The folder that :func:`keep_code` filled; nothing happens if it does not exist.
        is_trusted: Whether its code may be executed; otherwise nothing happens.
    """
    if not is_trusted or not folder.is_dir():
        yield
        return
    place = str(folder.resolve())
    names = {path.stem if path.is_file() else path.name for path in folder.iterdir()}
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in names}
    sys.path.insert(0, place)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(place)
        for name in [name for name in sys.modules if name.partition(".")[0] in names]:
            del sys.modules[name]
        sys.modules.update(hidden)


def import_class(class_path: str, folder: Path) -> Any:
    """Import a class by its path; :class:`InputError` says what to do if its module is not found.

    Args:
        class_path: The path, such as ``networks.Wide``.
        folder: The folder in which the run keeps code of the user's own, for the message.
    """
    module, _, name = class_path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        file = folder.joinpath(*module.split(".")).with_suffix(".py")
        trust = (
            f", or, if you trust its author, use the copy in {file} with trust_code=True"
            if file.exists()
            else ""
        )
        raise InputError(
            f"`{class_path}`, which the run was trained with, cannot be imported ({error}): put its file into the "
            f"current directory or on PYTHONPATH{trust}."
        ) from error


def _own_files(module: str) -> dict[str, Path]:
    """The user's files that a module consists of or imports from beside it, by the name of their module."""
    start = sys.modules.get(module)
    file = None if start is None else _own_file(start)
    if file is None or module == "__main__":
        return {}
    levels = module.count(".") + (file.name == "__init__.py")
    root = file.parents[levels]
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        this = sys.modules.get(name)
        path = None if this is None else _own_file(this)
        if name in found or this is None or path is None or root not in path.parents:
            continue
        found[name] = path
        waiting += [".".join(name.split(".")[:n]) for n in range(1, name.count(".") + 1)]
        waiting += _imports(path, this.__package__ or "")
    return found


def _own_file(module: ModuleType) -> Path | None:
    """The source of a module outside of Python's own folders and of this package."""
    file = getattr(module, "__file__", None)
    if file is None or not file.endswith(".py") or module.__name__.partition(".")[0] == __package__:
        return None
    path = Path(file).resolve()
    return None if any(folder in path.parents for folder in _INSTALLED) else path


def _imports(file: Path, package: str) -> Iterator[str]:
    """The names of all modules that a file may import, wherever in the file; some may be no modules."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            yield start
            yield from (f"{start}.{alias.name}" for alias in node.names)
