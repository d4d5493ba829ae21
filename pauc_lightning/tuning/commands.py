"""The ``pauc fit`` commands of a search."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pauc_lightning.config_files import name_of_config
from pauc_lightning.experiments.commands import CALLBACKS, DEFAULTS, FIRST
from pauc_lightning.experiments.option_values import method_config
from pauc_lightning.tuning.request import TuneRequest
from pauc_lightning.tuning.space import Value


def warm_up_arguments(request: TuneRequest, seed: int, run_dir: Path) -> tuple[str, ...]:
    """Build the command that trains the warm-up of a seed: cross-entropy, with the options of all methods."""
    return (
        *("fit", *_common(request, (method_config("ce"),)), *request.options),
        *_own(seed, run_dir, f"warmup-seed{seed}", request.warmup_epochs),
    )


def trial_arguments(
    request: TuneRequest,
    method: str,
    parameters: Mapping[str, Value],
    seed: int,
    run_dir: Path,
    start: Path | None,
    bars: Sequence[float | None],
) -> tuple[str, ...]:
    """Build the command that trains a trial with one seed. Nothing is tested.

    Args:
        request: The search.
        method: The method.
        parameters: The trial's settings; empty for the method as it is configured.
        seed: The seed.
        run_dir: The directory of the trial.
        start: The checkpoint at the end of the warm-up; None for initial weights.
        bars: The values below which the training is given up.

    Returns:
        The arguments of ``pauc``. The search's own come last, so that they win.
    """
    record = {"class_path": "pauc_lightning.tuning.record.TrialRecord", "init_args": {"bars": list(bars)}}
    return (
        *("fit", *_common(request, request.configs_of(method)), *request.options_of(method)),
        *(as_option(key, value) for key, value in parameters.items()),
        *_own(seed, run_dir, f"seed{seed}", request.epochs_of(method)),
        f"--trainer.callbacks+={json.dumps(record)}",
        *_phase(request, start),
    )


def fit_command(
    request: TuneRequest, config: Path, parameters: Mapping[str, Value], options: Sequence[str]
) -> list[str]:
    """The command that trains with the file of the best settings; given options that were varied are left out.

    Args:
        request: The search.
        config: The file with the best settings.
        parameters: These settings: an option of the same name would win over the file.
        options: The options given for the search.
    """
    names = [*map(name_of_config, request.configs), str(config)]
    return [
        *("pauc", "fit", *(part for name in names for part in ("-c", name))),
        *without_options(options, parameters),
    ]


def without_options(options: Sequence[str], keys: Collection[str]) -> list[str]:
    """Leave out options, with their values, by name.

    Example:
        >>> without_options(["--data.a", "1", "--data.init_args.b=2", "--c", "3"], ["data.a", "data.b"])
        ['--c', '3']
    """
    short = {key.replace(".init_args.", ".") for key in keys}
    kept: list[str] = []
    is_kept = True
    for text in options:
        if text.startswith("--"):
            name = text[2:].partition("=")[0].replace("-", "_").replace(".init_args.", ".")
            is_kept = name not in short
        if is_kept:
            kept.append(text)
    return kept


def repeat_command(
    request: TuneRequest,
    config: Path,
    method: str,
    parameters: Mapping[str, Value],
    seed: int,
    start: Path | None,
) -> list[str]:
    """The command that repeats a trial from the file with its settings."""
    return [
        *fit_command(request, config, parameters, request.options_of(method)),
        *(
            f"--seed_everything={seed}",
            f"--data.seed={seed}",
            f"--trainer.max_epochs={request.epochs_of(method)}",
        ),
        *("--model.warmup_epochs=0", *([f"--model.init_weights={start}"] if start is not None else [])),
    ]


def print_config_arguments(request: TuneRequest, method: str) -> tuple[str, ...]:
    """Build the command that checks the options of a method's trials and prints their settings."""
    return (
        *("fit", *_common(request, request.configs_of(method)), *request.options_of(method)),
        "--print_config",
    )


def as_option(key: str, value: Value) -> str:
    """Write an option.

    Example:
        >>> as_option("model.gradient_clip_norm", None), as_option("model.closed_form_start", True)
        ('--model.gradient_clip_norm=null', '--model.closed_form_start=true')
    """
    return f"--{key}={value if isinstance(value, str) else json.dumps(value)}"


def _common(request: TuneRequest, configs: Sequence[Path]) -> list[str]:
    names = (*request.configs, *map(str, configs))
    return [*FIRST, *(part for name in names for part in ("-c", name)), *DEFAULTS]


def _own(seed: int, run_dir: Path, name: str, epochs: int) -> tuple[str, ...]:
    return (
        f"--run_dir={run_dir}",
        f"--run_name={name}",
        f"--seed_everything={seed}",
        f"--data.seed={seed}",
        f"--trainer.max_epochs={epochs}",
        "--test_best=false",
        *CALLBACKS,
    )


def _phase(request: TuneRequest, start: Path | None) -> tuple[str, ...]:
    return (
        f"--model.max_fpr={request.region.max_fpr}",
        f"--model.min_tpr={request.region.min_tpr}",
        "--model.warmup_epochs=0",
        *([f"--model.init_weights={start}"] if start is not None else []),
    )
