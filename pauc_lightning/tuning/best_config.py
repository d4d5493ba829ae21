"""The config file with the best settings of a method."""

from __future__ import annotations

import shlex
from typing import Any

import yaml

from pauc_lightning.cli.configs import read_config
from pauc_lightning.tuning.commands import repeat_command
from pauc_lightning.tuning.result import MethodResult, TuneResult
from pauc_lightning.tuning.trial import Trial


def best_config(result: TuneResult, of: MethodResult, best: Trial) -> str:
    """Write the method's config with the best settings, for ``pauc fit -c`` and for the methods of a comparison."""
    request = result.request
    settings: dict[str, Any] = {}
    for path in request.configs_of(of.method):
        _merge(settings, read_config(path))
    values = {
        **best.parameters,
        "model.max_fpr": request.region.max_fpr,
        "model.min_tpr": request.region.min_tpr,
        "model.warmup_epochs": request.warmup_epochs if request.has_warm_up(of.method) else 0,
    }
    for key, value in values.items():
        _set(settings, key, value)
    settings.setdefault("trainer", {})["max_epochs"] = request.warmup_epochs + request.epochs
    text: str = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    return "".join(f"# {line}\n" for line in _comment(result, of, best)) + text


def _comment(result: TuneResult, of: MethodResult, best: Trial) -> list[str]:
    request = result.request
    default = of.default.value
    seeds = " ".join(map(str, request.seeds))
    configured = f"{default:.4f}" if default is not None else of.default.state
    has_start = of.method not in request.from_initial_weights
    epochs = f"{request.warmup_epochs} + {request.epochs}" if has_start else str(request.epochs_of(of.method))
    start = (
        "after a warm-up that all methods share" if has_start else "from initial weights, without a warm-up"
    )
    lines = [
        f"{of.method} as tuned: validation {request.region.title} {best.value:.4f}; as configured {configured}.",
        f"The best of {len(of.trials)} trials ({best.number}, from 0), mean over seeds {seeds}, "
        f"{epochs} epochs. Found by:",
        f"  {request.command}",
        f"Tuned {start}. To repeat the trial bit for bit:",
    ]
    for seed in request.seeds:
        checkpoint = result.warm_ups.get(seed) if has_start else None
        command = repeat_command(request, of.config, of.method, best.parameters, seed, checkpoint)
        # A number of threads is no option of `pauc fit`, and another one changes the last bits.
        lines.append(f"  OMP_NUM_THREADS={request.threads} {shlex.join(command)}")
    return lines


def _merge(settings: dict[str, Any], later: dict[str, Any]) -> None:
    """Add the settings of a later file, which win."""
    for key, value in later.items():
        if isinstance(value, dict) and isinstance(settings.get(key), dict):
            _merge(settings[key], value)
        else:
            settings[key] = value


def _set(settings: dict[str, Any], key: str, value: object) -> None:
    """Set an option of a class, or of a class within it."""
    *owners, name = key.replace(".init_args.", ".").split(".")
    node = settings
    for owner in owners:
        node = node.setdefault(owner, {})
        node = node.setdefault("init_args", {})
    node[name] = value
