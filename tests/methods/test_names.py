"""A method's name is the same everywhere: its files, its configuration, its class and its loss."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import yaml

from pauc_lightning import methods, objectives
from pauc_lightning.methods import PartialAUCModule

ROOT = Path(__file__).parent.parent.parent
METHODS = sorted(set(methods.__all__) - {"PartialAUCModule"})
CONFIGS = sorted(path for path in (ROOT / "configs/method").glob("*.yaml") if "." not in path.stem)


def stem_of(method: str) -> str:
    """The module in which the class is defined."""
    return str(getattr(methods, method).__module__).rpartition(".")[2]


@pytest.mark.parametrize("method", METHODS)
def test_file_configuration_class_and_loss_agree(method: str) -> None:
    stem = stem_of(method)
    assert stem.replace("_", "") == method.lower()
    assert (ROOT / f"tests/methods/test_{stem}.py").is_file()
    assert yaml.safe_load((ROOT / f"configs/method/{stem}.yaml").read_text())["model"]["class_path"] == method
    module = importlib.import_module(f"pauc_lightning.objectives.{stem}")
    assert getattr(objectives, f"{method}Loss") is getattr(module, f"{method}Loss")


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_a_configuration_begins_with_its_methods_name(config: Path) -> None:
    stem = stem_of(yaml.safe_load(config.read_text())["model"]["class_path"])
    assert config.stem == stem or config.stem.startswith(f"{stem}_")


def test_every_method_is_exported() -> None:
    """The rule above reaches all files of the package that define a method."""
    for path in (ROOT / "pauc_lightning/methods").glob("*.py"):
        module = importlib.import_module(f"pauc_lightning.methods.{path.stem}")
        defined = [value for value in vars(module).values() if isinstance(value, type)]
        defined = [value for value in defined if value.__module__ == module.__name__]
        for value in defined:
            is_base = value.__name__.endswith(("Method", "Module"))
            if issubclass(value, PartialAUCModule) and not is_base:
                assert value.__name__ in METHODS


def test_no_name_stands_for_a_loss_and_a_method() -> None:
    assert not {*vars(objectives)} & {*METHODS}
    assert not {*objectives.__all__} & {*methods.__all__}
