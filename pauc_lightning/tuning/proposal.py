"""The settings of the next trial, proposed by Optuna's tree-structured Parzen estimator."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pauc_lightning.errors import InputError
from pauc_lightning.tuning.space import Choice, Dimension, Space, Value
from pauc_lightning.tuning.trial import Trial

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

_WORST = 0.0
"""The least partial AUC there is: what a trial that failed or collapsed is worth to the sampler."""


def check_installed() -> None:
    """Reject a search without Optuna.

    Raises:
        InputError: If it cannot be imported.
    """
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise InputError(
            "Tuning needs Optuna, which is not installed: pip install 'pauc-lightning[tune]'."
        ) from error


def propose(
    space: Space, known: Sequence[Trial], running: Sequence[Trial], number: int, seed: str
) -> dict[str, Value]:
    """Propose the settings of a trial.

    The proposal is a function of the arguments: nothing is remembered between calls, so a search that was killed
    proposes afterwards what it would have proposed.

    Args:
        space: What is varied.
        known: The trials that have ended.
        running: Trials that are under way; the proposal keeps its distance from them.
        number: The number of the trial.
        seed: Any text; another one gives other proposals.

    Returns:
        The value of each option.
    """
    import optuna  # slow to import

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    digest = hashlib.sha256(f"{seed}/{number}".encode()).digest()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", optuna.exceptions.ExperimentalWarning
        )  # of constant_liar, before Optuna 5
        sampler = optuna.samplers.TPESampler(
            seed=int.from_bytes(digest[:4], "big"), constant_liar=bool(running)
        )
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.add_trials([_as_optuna_knows_it(trial, space) for trial in (*known, *running)])
    distributions = {key: _distribution(dimension) for key, dimension in space.dimensions.items()}
    asked = study.ask(distributions)
    return {
        key: value if isinstance(dimension := space.dimensions[key], Choice) else dimension.rounded(value)
        for key, value in asked.params.items()
    }


def _as_optuna_knows_it(trial: Trial, space: Space) -> FrozenTrial:
    from optuna.trial import TrialState, create_trial

    # A default may lie outside the space; the sampler then learns from the trial's other options only.
    inside = {
        key: trial.parameters[key]
        for key, dimension in space.dimensions.items()
        if key in trial.parameters and trial.parameters[key] in dimension
    }
    states = {"running": TrialState.RUNNING, "pruned": TrialState.PRUNED}
    state = states.get(trial.state, TrialState.COMPLETE)
    value = trial.value if trial.state == "complete" else _WORST
    last = [run.best_so_far[-1] for run in trial.runs if run.curve]
    so_far = {sum(len(run.curve) for run in trial.runs): sum(last) / len(last)} if last else {}
    return create_trial(
        state=state,
        params=inside,
        distributions={key: _distribution(space.dimensions[key]) for key in inside},
        value=value if state == TrialState.COMPLETE else None,
        intermediate_values=so_far if state == TrialState.PRUNED else {},
    )


def _distribution(dimension: Dimension) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(dimension, Choice):
        return CategoricalDistribution(dimension.values)
    if dimension.is_integer:
        return IntDistribution(int(dimension.low), int(dimension.high))
    return FloatDistribution(dimension.low, dimension.high, log=dimension.is_log)
