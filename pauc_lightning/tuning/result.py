"""What a search has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pauc_lightning.tuning.commands import as_option
from pauc_lightning.tuning.request import TuneRequest
from pauc_lightning.tuning.space import Space, Value
from pauc_lightning.tuning.trial import State, Trial, best_of


@dataclass(frozen=True)
class MethodResult:
    """The trials of one method.

    Args:
        method: The method.
        space: What was varied.
        trials: The trials that have ended, in order; the first is the method as it is configured.
        config: The file with the best settings; it exists if :attr:`best` does.
        folder: The directory of the trials.
    """

    method: str
    space: Space
    trials: tuple[Trial, ...]
    config: Path
    folder: Path

    @property
    def best(self) -> Trial | None:
        """The trial with the largest value; None if none has one."""
        return best_of(self.trials)

    @property
    def default(self) -> Trial:
        """The method as it is configured."""
        return self.trials[0]

    @property
    def options(self) -> tuple[str, ...]:
        """The best settings as options of ``pauc fit``."""
        parameters: Mapping[str, Value] = {} if self.best is None else self.best.parameters
        return tuple(as_option(key, value) for key, value in parameters.items())

    def count(self, state: State) -> int:
        """The number of trials in a state."""
        return sum(trial.state == state for trial in self.trials)

    def run_folder(self, trial: Trial, seed: int) -> Path:
        """The run's directory of a trial and seed; that of the best trial has its ``checkpoints/best.ckpt``."""
        return self.folder / f"trial{trial.number:03d}" / f"seed{seed}" / "version_0"


@dataclass(frozen=True)
class TuneResult:
    """The results of a search; all methods have the same number of trials.

    Args:
        request: The search.
        methods: The results of each method, by its name.
        warm_ups: For each seed, the checkpoint that the trials started from; empty without a warm-up.
        warnings: Warnings of the trainings, without repeats.
    """

    request: TuneRequest
    methods: Mapping[str, MethodResult]
    warm_ups: Mapping[int, Path]
    warnings: tuple[str, ...] = ()

    @property
    def n_trials(self) -> int:
        """Number of trials of each method."""
        return len(next(iter(self.methods.values())).trials)
