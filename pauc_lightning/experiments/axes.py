"""The axes of a comparison: from labels and settings to configs and options."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pauc_lightning.config_files import find_config
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.option_values import check_is_name, method_config, taken_by
from pauc_lightning.experiments.variant import (
    Start,
    Variant,
    class_option,
    option_names,
    option_texts,
    read_start,
)

WARM_UP = "warmup"
"""The name of the warm-ups where methods are named."""

_START = "start"
_LABEL = re.compile(r"\w[\w.+-]*")

NOT_TO_BE_GIVEN = {
    "run_dir": "give --out instead",
    "run_name": "its runs are named after method, region and seed",
    "seed_everything": "give --seeds instead",
    "data.seed": "give --seeds instead",
    "trainer.max_epochs": "give --epochs and --warmup_epochs instead",
    "model": "give --methods instead",
    "model.class_path": "give --methods instead",
    "model.max_fpr": "give --regions instead",
    "model.min_tpr": "give --regions instead",
    "model.warmup_epochs": "give --warmup_epochs instead",
    "model.init_weights": "every method starts from the common warm-up, or from its initial weights with "
    "`--for <method> start=initial`",
    "test_best": "every run is tested at its best epoch",
    "ckpt_path": "to continue a comparison, type its command again",
    "trainer.fast_dev_run": "it saves nothing; for a quick look give --epochs 1 --seeds 0",
    "trainer.logger": "every run is kept in --out; for W&B give --wandb",
    "trainer.enable_checkpointing": "the methods start from a checkpoint and are tested at one",
    "start": "a method has it of its own, as in `--for <method> start=initial`",
    "print_config": "a run's settings are in its config.yaml",
}
"""Options of ``pauc fit`` that a comparison sets itself or cannot work with, and what to do instead."""


def is_label(text: str) -> bool:
    """Whether a text can be a label."""
    return _LABEL.fullmatch(text) is not None


def check_label(axis: str, label: str) -> None:
    """Reject a label that cannot name a directory."""
    if not is_label(label):
        raise InputError(
            f"`{axis} {label}`: a label names a directory, so it has letters, digits and the signs _ . + - only: "
            "choose another one, and give the rest as its options."
        )


def method_variant(label: str, settings: Any) -> Variant:
    """The config and the options of a method; without ``config``, the label is the name of the config."""
    if settings is None:
        check_is_name("--methods", label)  # says where own files go
    check_label("--methods", label)
    if label == WARM_UP:
        raise InputError(
            f"`--methods {label}`: this is the name of the common warm-up. Choose another label."
        )
    return _method("--methods", label, label, settings)


def warm_up_variant(settings: Any) -> Variant:
    """The config and the options of the warm-ups: cross-entropy, unless another config is named."""
    if isinstance(settings, Mapping) and _START in settings:
        raise InputError(
            f"`{WARM_UP}: {_START}`: a warm-up always starts from initial weights. Give `{_START}` to a method."
        )
    return _method("warmup:", WARM_UP, "ce", settings)


def data_variant(label: str, settings: Any) -> Variant:
    """The config and the options of a data set.

    It is the name of a config, or a class with its arguments, or options beside ``config``. Options without ``config``
    are added to the config of the label's name, if there is one.
    """
    check_label("data", label)
    return _config_or_class("data", label, settings)


def backbone_variant(label: str, settings: Any) -> Variant:
    """The class or the options of a backbone; a label alone is the name of the class."""
    check_label("backbones", label)
    if settings is None:
        return Variant(options=(class_option("model.backbone", label),))
    return _config_or_class("model.backbone", label, settings)


def check_names(options: Sequence[str], owner: str = "") -> None:
    """Reject options that a comparison sets itself.

    Args:
        options: Options of ``pauc fit``.
        owner: The label that they belong to; empty if they go to every run.
    """
    where = f" for {owner}" if owner else ""
    for name in option_names(options):
        taken = taken_by(name, NOT_TO_BE_GIVEN)
        if taken is not None:
            raise InputError(f"`--{name}`{where} cannot be given to pauc compare: {NOT_TO_BE_GIVEN[taken]}.")
        if name.endswith(".help"):
            raise InputError(f"`--{name}` is an option of pauc fit: type pauc fit --{name}.")


def _method(option: str, label: str, config: str, settings: Any) -> Variant:
    start: Start = "warmup"
    if isinstance(settings, Mapping) and _START in settings:
        start = read_start(f"{label}: {{{_START}: {settings[_START]}}}", settings[_START])
        settings = {key: value for key, value in settings.items() if key != _START}
    names, options = _split(label, settings)
    paths = [_path_or_method(option, name) for name in names or [config]]
    check_names(options, label)
    return Variant(tuple(map(str, paths)), options, start=start)


def _path_or_method(option: str, name: str) -> Path:
    is_path = Path(name).name != name or Path(name).suffix in (".yaml", ".yml")
    return find_config(name) if is_path else method_config(name, option)


def _config_or_class(option: str, label: str, settings: Any) -> Variant:
    if isinstance(settings, str) or (isinstance(settings, Mapping) and "class_path" in settings):
        return Variant(options=(class_option(option, settings),))
    names, options = _split(label, settings)
    check_names(options, label)
    if names:
        return Variant(tuple(str(find_config(name)) for name in names), options)
    if settings is None:
        return Variant((str(find_config(label)),))
    return Variant(_config_called(label) if option == "data" else (), options)


def _config_called(label: str) -> tuple[str, ...]:
    try:
        return (str(find_config(f"data/{label}")),)
    except InputError:
        return ()


def _split(label: str, settings: Any) -> tuple[list[str], tuple[str, ...]]:
    """Separate the names of configs from the options."""
    if settings is None:
        return [], ()
    if not isinstance(settings, Mapping):
        raise InputError(
            f"`{label}: {settings}`: give its options, such as {{model.learning_rate: 0.1}}, or nothing."
        )
    given = settings.get("config") or []
    names = [given] if isinstance(given, str) else list(given)
    return names, option_texts({key: value for key, value in settings.items() if key != "config"})
