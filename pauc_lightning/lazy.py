"""Packages whose names are imported when they are first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package that imports each of its names on first use.

    Type checkers and editors read the package's ``if TYPE_CHECKING`` block instead, so they see ordinary imports.

    Args:
        package: The package's ``__name__``.
        homes: For each module of the package, the names that it defines.
    """
    module_of = {name: f"{package}.{module}" for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)  # the next access finds it without asking here
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return get, list_names
