"""The kinds of classes that options accept, and the classes known by their bare names."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from functools import cache
from types import ModuleType

import lightning.pytorch.callbacks
import lightning.pytorch.loggers
from lightning.pytorch import Callback, LightningDataModule
from lightning.pytorch.loggers import Logger
from torch import nn

import pauc_lightning.callbacks
import pauc_lightning.data
import pauc_lightning.methods
import pauc_lightning.models
from pauc_lightning.methods import PartialAUCModule


@dataclass(frozen=True)
class Kind:
    """A kind of class, such as methods or data modules.

    Args:
        title: The name for a class of this kind, with its article.
        base: The base class.
        modules: The modules that hold the known classes.
        option: The option that takes such a class.
        own: An example of the import path of a user's own class.
    """

    title: str
    base: type
    modules: tuple[ModuleType, ...]
    option: str
    own: str

    @property
    def names(self) -> list[str]:
        """The names of the known classes."""
        return sorted(
            name
            for module in self.modules
            for name in module.__all__
            if isinstance(member := getattr(module, name), type)
            and issubclass(member, self.base)
            and member not in (self.base, PartialAUCModule)
            and not inspect.isabstract(member)
        )


KINDS = {
    "model": Kind("a method", PartialAUCModule, (pauc_lightning.methods,), "--model", "my_file.MyMethod"),
    "data": Kind("a data module", LightningDataModule, (pauc_lightning.data,), "--data", "my_file.MyData"),
    "backbone": Kind("a backbone", nn.Module, (pauc_lightning.models,), "--model.backbone", "my_file.MyNet"),
    "callbacks": Kind(
        "a callback",
        Callback,
        (lightning.pytorch.callbacks, pauc_lightning.callbacks),
        "--trainer.callbacks",
        "my_file.MyCallback",
    ),
    "logger": Kind("a logger", Logger, (lightning.pytorch.loggers,), "--trainer.logger", "my_file.MyLogger"),
}
"""All kinds, by the last part of the option's name."""


@cache
def load_known_classes() -> None:
    """Import every known class: the parser accepts bare names only of classes that have been imported."""
    for kind in KINDS.values():
        for module in kind.modules:
            for name in module.__all__:
                getattr(module, name)


def kind_of(name: str) -> Kind | None:
    """The kind of a known class."""
    return next((kind for kind in KINDS.values() if name.rpartition(".")[2] in kind.names), None)


def find_class(name: str) -> type | None:
    """The class with this bare name or import path; None if it cannot be imported."""
    module, _, last = name.rpartition(".")
    if not module:
        candidates = [getattr(place, name, None) for kind in KINDS.values() for place in kind.modules]
    else:
        try:
            candidates = [getattr(importlib.import_module(module), last, None)]
        except Exception:  # a user's module may raise anything
            candidates = []
    return next((candidate for candidate in candidates if isinstance(candidate, type)), None)
