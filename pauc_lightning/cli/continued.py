"""Settings of a command that uses a checkpoint: which ones the checkpoint overrides, and which differ from its run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pauc_lightning.cli.settings import LINKED_FROM_DATA
from pauc_lightning.errors import InputError

_WITHOUT_EFFECT = (
    *("config", "ckpt_path", "run_dir", "run_name", "test_best", "weights_only"),
    *("wandb", "wandb_project", "wandb_group", "wandb_job_type", "tensorboard"),
    *("checkpoint", "figures", "decision", "predictions"),
    *(
        "trainer.max_epochs",
        "trainer.max_steps",
        "trainer.max_time",
        "trainer.min_epochs",
        "trainer.min_steps",
    ),
    *("trainer.log_every_n_steps", "trainer.logger", "trainer.callbacks", "trainer.profiler"),
    *("trainer.enable_progress_bar", "trainer.enable_model_summary", "trainer.enable_checkpointing"),
    *("trainer.default_root_dir", "trainer.enable_autolog_hparams", "trainer.fast_dev_run"),
    *("data.num_workers", "data.eval_batch_size", "data.predict_part", "data.predict_input"),
    *("data.path", "data.root", "data.preprocessing", "data.id_column"),
    "model",
)
"""Settings that do not affect the weights, and the model's settings, which come from the checkpoint."""


def check_model(path: str, asked: Mapping[str, Any], used: Mapping[str, Any]) -> None:
    """Warn of model settings that the checkpoint overrides; refuse another method than the checkpoint's.

    Args:
        path: The checkpoint.
        asked: Class and arguments of the model as given by the user; empty if none was given.
        used: Class and arguments of the model as stored in the checkpoint.
    """
    if not asked:
        return
    asked_method, method = (str(model["class_path"]).rpartition(".")[2] for model in (asked, used))
    if asked_method != method:
        raise InputError(
            f"`model={asked_method}`, but {path} is a checkpoint of {method}, and a run keeps its method. To train "
            f"{asked_method} from these weights, start a new run: pauc fit ... --model.init_weights={path}"
        )
    given, stored = asked.get("init_args", {}), used.get("init_args", {})
    shared = [key for key in given if key in stored and key not in LINKED_FROM_DATA]
    lines = [
        f"  {key}: asked for {given[key]!r}, using {stored[key]!r}"
        for key in shared
        if given[key] != stored[key]
    ]
    if lines:
        listed = "\n".join(lines)
        print(
            f"warning: the checkpoint {path} was made with other settings, and those are used:\n{listed}\n"
            "To train on with new settings, start a new run with --model.init_weights=<checkpoint> "
            "instead of --ckpt_path.",
            file=sys.stderr,
        )


def changed_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Settings that differ from the run's, with both values.

    Args:
        before: The run's settings, as in its config.yaml.
        now: The command's settings.

    Example:
        >>> before = {"seed_everything": 0, "data": {"class_path": "DigitsLT", "init_args": {"batch_size": 128}}}
        >>> now = {"seed_everything": 0, "data": {"class_path": "DigitsLT", "init_args": {"batch_size": 32}}}
        >>> changed_settings(before, now)
        {'data.batch_size': (128, 32)}
    """
    old, new = dict(_flat(before)), dict(_flat(now))
    return {
        key: (old[key], value)
        for key, value in new.items()
        if key in old and old[key] != value and not _has_no_effect(key)
    }


def describe_changes(changes: Mapping[str, tuple[Any, Any]]) -> str:
    """One line about the settings that change."""
    listed = ", ".join(f"{key} is {new} instead of {old}" for key, (old, new) in changes.items())
    return f"the run continues with other settings: {listed}. It does not end as the uninterrupted run would have."


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        key = prefix if name == "init_args" else f"{prefix}.{name}".lstrip(".")
        if isinstance(value, Mapping):
            yield from _flat(value, key)
        else:
            yield key, value


def _has_no_effect(key: str) -> bool:
    return any(key == name or key.startswith(f"{name}.") for name in _WITHOUT_EFFECT)
