"""Trials: settings that are tried out, with one training per seed."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Literal, TypeAlias

from pauc_lightning.errors import InputError
from pauc_lightning.files import write_text
from pauc_lightning.tuning.space import Value

State: TypeAlias = Literal["running", "complete", "pruned", "collapsed", "failed"]

_FILE = "trial.json"


@dataclass(frozen=True)
class TrialRun:
    """The training of a trial with one seed.

    Args:
        seed: The seed.
        value: The partial AUC on the validation part at the best epoch; None if the training failed.
        curve: The partial AUC of every validation.
        pruned_at: The number of the validation after which it was given up, from 1; None if it was not.
        collapse: What the collapse warning said, if there was one.
        failure: Why there is no value, in a sentence.
        seconds: How long it took.
    """

    seed: int
    value: float | None = None
    curve: tuple[float, ...] = ()
    pruned_at: int | None = None
    collapse: str | None = None
    failure: str | None = None
    seconds: float = 0.0

    @property
    def best_so_far(self) -> list[float]:
        """The best value of all validations until each of them."""
        return list(accumulate(self.curve, max))


@dataclass(frozen=True)
class Trial:
    """Settings that are tried out.

    Args:
        number: The number of the trial among those of its method, from 0.
        parameters: The values of the options that are varied.
        seeds: The seeds to train with.
        known: How many trials were known when this one was proposed.
        runs: The trainings that have ended, in the order of the seeds.
    """

    number: int
    parameters: Mapping[str, Value]
    seeds: tuple[int, ...]
    known: int = 0
    runs: tuple[TrialRun, ...] = field(default=())

    @property
    def state(self) -> State:
        """Where the trial stands; only complete and collapsed trials have a value."""
        if any(run.failure is not None for run in self.runs):
            return "failed"
        if any(run.pruned_at is not None for run in self.runs):
            return "pruned"
        if len(self.runs) < len(self.seeds):
            return "running"
        return "collapsed" if any(run.collapse is not None for run in self.runs) else "complete"

    @property
    def value(self) -> float | None:
        """The mean over the seeds of the partial AUC on the validation part."""
        values = [run.value for run in self.runs if run.value is not None]
        return statistics.fmean(values) if self.state in ("complete", "collapsed") else None

    @property
    def seconds(self) -> float:
        """How long it took."""
        return sum(run.seconds for run in self.runs)

    @property
    def failure(self) -> str | None:
        """Why it failed, if it did."""
        return next((run.failure for run in self.runs if run.failure is not None), None)

    @property
    def next_seed(self) -> int | None:
        """The seed of the next training; None if the trial has ended."""
        return self.seeds[len(self.runs)] if self.state == "running" else None

    def with_run(self, run: TrialRun) -> Trial:
        """Return the trial with one more training."""
        return replace(self, runs=(*self.runs, run))

    def write(self, folder: Path) -> None:
        """Write the trial into its directory."""
        write_text(folder / _FILE, json.dumps({**asdict(self), "state": self.state}, indent=2) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Trial | None:
        """Read the trial in a directory; None if there is none."""
        path = folder / _FILE
        if not path.is_file():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            runs = tuple(TrialRun(**{**run, "curve": tuple(run["curve"])}) for run in content["runs"])
            return cls(
                int(content["number"]),
                dict(content["parameters"]),
                tuple(content["seeds"]),
                int(content["known"]),
                runs,
            )
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path} is damaged: delete {folder}, and the trial is repeated.") from error


def best_of(trials: Sequence[Trial]) -> Trial | None:
    """Choose the trial with the largest value, the first of equals.

    One that collapsed counts only if there is no other: with the next seed it may collapse before it has learned.
    """
    for state in ("complete", "collapsed"):
        with_value = [trial for trial in trials if trial.state == state]
        if with_value:
            return max(with_value, key=lambda trial: trial.value or 0.0)
    return None
