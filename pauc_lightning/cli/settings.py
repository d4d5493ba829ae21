"""Refuses settings that parse but cannot work, before anything is built or written."""

from __future__ import annotations

import os
import re

from jsonargparse import Namespace
from lightning.pytorch.accelerators import AcceleratorRegistry
from lightning.pytorch.strategies import StrategyRegistry

from pauc_lightning.cli.nearest import nearest
from pauc_lightning.errors import InputError

_MOST_NAMES = 14
_LONGEST_NAME = 200
_LONGEST_IN_WANDB = 128
_PROFILERS = ("simple", "advanced", "pytorch", "xla")

LINKED_FROM_DATA = ("prior", "train_size", "input_shape")
"""Arguments of the model that are taken from attributes of the data module, if it has them."""

_LARGEST_SEED = 2**32 - 1


def check_settings(command: str, config: Namespace) -> None:
    """Raise :class:`InputError` for settings that Lightning would ignore, or fail on much later.

    Args:
        command: fit, validate, test or predict.
        config: Its parsed settings.
    """
    _check_seed(config.get("seed_everything"))
    _check_names(config)
    trainer = config["trainer"]
    if trainer.get("gradient_clip_val") is not None:
        raise InputError(
            f"`trainer.gradient_clip_val={trainer['gradient_clip_val']}` has no effect here, as the "
            "methods step their optimizers themselves: use --model.gradient_clip_norm instead."
        )
    if trainer.get("accumulate_grad_batches", 1) != 1:
        raise InputError(
            f"`trainer.accumulate_grad_batches={trainer['accumulate_grad_batches']}` has no effect here, as the "
            "methods step their optimizers themselves: use a larger --data.batch_size instead."
        )
    _check_links(config.get("model"))
    _check_hardware(trainer)
    _check_intervals(trainer)
    if config.get("ckpt_path") == "":
        raise InputError(
            "`--ckpt_path=` is empty: give the path of a .ckpt file, `best` or `last`, or leave it out."
        )
    if command == "fit":
        _check_length(trainer)
    elif not config.get("ckpt_path"):
        model = config.get("model")
        if not (model and model.get("init_args", {}).get("init_weights")):
            raise InputError(
                f"`pauc {command}` needs a trained model: name its run, as in `pauc {command} "
                "runs/<name>/version_<n>`, or give --ckpt_path=<file.ckpt>."
            )


def _check_seed(seed: object) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int):
        return  # true asks Lightning to choose one
    if not 0 <= seed <= _LARGEST_SEED:
        raise InputError(
            f"`seed_everything` must be from 0 to {_LARGEST_SEED}, got {seed}: choose another seed, such as 0."
        )


def _check_names(config: Namespace) -> None:
    if not config.get("run_dir"):
        raise InputError("`run_dir` is empty: give the directory that holds all runs, such as `runs`.")
    name = config.get("run_name")
    if name is not None and (not name.strip() or name in (".", "..") or "/" in name or "\0" in name):
        raise InputError(
            f"`run_name` becomes a directory in `run_dir`, so it must not be empty or contain a slash, got {name!r}: "
            "give a plain name, and the place with --run_dir."
        )
    if name is not None and len(os.fsencode(name)) > _LONGEST_NAME:
        raise InputError(
            f"`run_name={name[:20]}...` has {len(os.fsencode(name))} bytes, more than {_LONGEST_NAME}: choose a "
            "shorter one."
        )

    for option in ("wandb_project", "wandb_group", "wandb_job_type"):
        value = config.get(option)
        if value is not None and not 0 < len(value.strip()) <= _LONGEST_IN_WANDB:
            raise InputError(
                f"`{option}={value[:20]}` has {len(value)} characters, but W&B takes from 1 to {_LONGEST_IN_WANDB}: "
                "choose another name, or leave it out."
            )


def _check_links(model: Namespace | None) -> None:
    arguments = model.get("init_args") if model else None
    for name in LINKED_FROM_DATA:
        value = arguments.get(name) if arguments else None
        if value is not None:
            raise InputError(
                f"`model.{name}={value}` would have no effect, as it is taken from the data: leave it out; a data "
                f"module of your own has an attribute `{name}`."
            )


def _check_hardware(trainer: Namespace) -> None:
    """Check names and numbers that the Trainer refuses without naming the value or the choices."""
    for name, registry in (("accelerator", AcceleratorRegistry), ("strategy", StrategyRegistry)):
        value = trainer.get(name)
        # Some strategies are named in the Trainer only, others are made of several words.
        known = sorted(
            {"auto", *registry, *({"gpu"} if name == "accelerator" else {"fsdp", "ddp", "deepspeed"})}
        )
        if isinstance(value, str) and value not in known:
            raise InputError(
                f"`trainer.{name}={value}` does not exist.{nearest(value, known)} Known: {_few(known)}."
            )
    devices = trainer.get("devices")
    is_number = isinstance(devices, int) or (isinstance(devices, str) and re.fullmatch(r"-?\d+", devices))
    is_list = isinstance(devices, list) or (isinstance(devices, str) and re.fullmatch(r"[\d, ]+", devices))
    if (is_number and (int(devices) == 0 or int(devices) < -1)) or not (
        is_number or is_list or devices == "auto"
    ):
        raise InputError(
            f"`trainer.devices={devices}` must be a positive number, -1 for all, `auto`, or a list of device numbers: "
            "write, for example, --trainer.devices=1."
        )
    profiler = trainer.get("profiler")
    if isinstance(profiler, str) and profiler not in _PROFILERS:
        raise InputError(
            f"`trainer.profiler={profiler}` does not exist.{nearest(profiler, _PROFILERS)} Known: "
            f"{', '.join(_PROFILERS)}."
        )
    if trainer.get("num_nodes", 1) < 1:
        raise InputError(
            f"`trainer.num_nodes={trainer['num_nodes']}` must be at least 1: leave it out for one machine."
        )


def _check_intervals(trainer: Namespace) -> None:
    for name, smallest, remedy in (
        ("check_val_every_n_epoch", 1, "1 validates after every epoch"),
        ("log_every_n_steps", 0, "0 turns logging off"),
        ("num_sanity_val_steps", -1, "0 turns the check off"),
        ("fast_dev_run", 0, "leave it out for a real run"),
    ):
        value = trainer.get(name)
        if isinstance(value, (int, float)) and value < smallest:
            raise InputError(f"`trainer.{name}={value}` must be at least {smallest}: {remedy}.")
    for name in ("limit_train_batches", "limit_val_batches", "limit_test_batches", "val_check_interval"):
        value = trainer.get(name)
        is_fraction = isinstance(value, float) and 0 <= value <= 1
        is_count = isinstance(value, (int, float)) and value >= 0 and value == int(value)
        if isinstance(value, (int, float)) and not (is_fraction or is_count):
            raise InputError(
                f"`trainer.{name}={value}` must be a number of batches or a fraction in [0, 1]: write, for example, 10 "
                "or 0.5."
            )


def _few(names: list[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (" and others" if len(names) > _MOST_NAMES else "")


def _check_length(trainer: Namespace) -> None:
    max_epochs, max_steps = trainer.get("max_epochs"), trainer.get("max_steps")
    for name, value in (("max_epochs", max_epochs), ("max_steps", max_steps)):
        if value is not None and (value == 0 or value < -1):
            raise InputError(
                f"`trainer.{name}={value}` trains nothing: give a positive number, or -1 for no such limit."
            )
    if trainer.get("limit_train_batches") == 0:
        raise InputError(
            "`trainer.limit_train_batches=0` trains nothing: give a positive number, or leave it out."
        )
