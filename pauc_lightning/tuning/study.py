"""Carries out a search: the same number of trials for every method, in rounds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pauc_lightning.cli.nearest import nearest
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.commands import check_config, check_validations
from pauc_lightning.experiments.executors.base import Ended, Executor, Job
from pauc_lightning.experiments.live import Progress
from pauc_lightning.files import write_text
from pauc_lightning.tuning.commands import print_config_arguments, trial_arguments, warm_up_arguments
from pauc_lightning.tuning.directory import TuningDirectory
from pauc_lightning.tuning.outputs import best_file, save
from pauc_lightning.tuning.proposal import check_installed, propose
from pauc_lightning.tuning.pruning import bars
from pauc_lightning.tuning.request import TuneRequest
from pauc_lightning.tuning.result import MethodResult, TuneResult
from pauc_lightning.tuning.space import Space, Value, space_of
from pauc_lightning.tuning.trial import Trial, TrialRun, best_of


@dataclass
class Lane:
    """The trials of one method.

    Args:
        method: The method.
        space: What is varied.
        default: The values of the varied options as the method is configured.
        trials: The trials that have been proposed, in order.
        in_progress: The numbers of those that are being trained at the moment.
    """

    method: str
    space: Space
    default: dict[str, Value]
    trials: list[Trial]
    in_progress: set[int] = field(default_factory=set)

    @property
    def ended(self) -> list[Trial]:
        """The trials that have ended."""
        return [trial for trial in self.trials if trial.state != "running"]

    @property
    def best(self) -> Trial | None:
        """The best trial so far."""
        return best_of(self.trials)

    @property
    def expected_seconds(self) -> float:
        """The seconds that a trial is expected to take; 0 before one has ended.

        A median, because the first trial of a process waits for its imports.
        """
        return statistics.median(trial.seconds for trial in self.ended) if self.ended else 0.0

    @property
    def waiting(self) -> Trial | None:
        """The first trial that has another seed to be trained with."""
        return next(
            (t for t in self.trials if t.next_seed is not None and t.number not in self.in_progress), None
        )

    def may_propose(self, width: int) -> bool:
        """Whether all trials that the next proposal must know have ended.

        Args:
            width: Number of trials of a method at the same time.
        """
        return all(trial.state != "running" for trial in self.trials[: len(self.trials) - width + 1])


class Watcher:
    """Is told how a search goes on; the base class shows nothing."""

    def notes(self, text: str) -> None:
        """Something is to be said before the trials begin."""

    def begins(self, search: Search) -> None:
        """The trials begin."""

    def starts(self, title: str) -> None:
        """A training starts."""

    def progresses(self, title: str, progress: Progress) -> None:
        """A training has come further."""

    def ends(self, title: str, method: str | None = None, trial: Trial | None = None) -> None:
        """A training has ended, and with it perhaps a trial."""


def tune(request: TuneRequest, executor: Executor, watcher: Watcher | None = None) -> TuneResult:
    """Search for the best settings of each method on the validation part; nothing is tested.

    Trials that were finished in ``request.out`` before are not repeated, and one that was killed is started again with
    the same settings. The results are saved there: ``trials.csv``, ``best_<method>.yaml`` and the table.

    Args:
        request: What to search.
        executor: Where the trainings run.
        watcher: Is told how the search goes on.

    Returns:
        The trials and the best settings.

    Raises:
        InputError: If the request cannot work, or a warm-up fails.
        KeyboardInterrupt: If the user interrupts; the same request continues.
    """
    return Search(request, executor, watcher or Watcher()).run()


class Search:
    """The state of a search.

    Args:
        request: What to search.
        executor: Where the trainings run.
        watcher: Is told how the search goes on.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        request: TuneRequest,
        executor: Executor,
        watcher: Watcher,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.request = request
        self.directory = TuningDirectory(request.out)
        self.lanes: list[Lane] = []
        self.rounds = 1
        self.n_earlier = 0
        self._executor = executor
        self._watcher = watcher
        self._clock = clock
        self._began = clock()
        self._started: dict[str, float] = {}
        self._warnings: dict[str, None] = {}
        self._is_over = False

    @property
    def width(self) -> int:
        """Number of trials of one method at the same time: as many as keep all slots busy."""
        return -(-self._executor.slots // len(self.request.methods))

    @property
    def slots(self) -> int:
        """Number of trainings at the same time."""
        return self._executor.slots

    @property
    def elapsed(self) -> float:
        """Seconds since the search began."""
        return self._clock() - self._began

    def run(self) -> TuneResult:
        """Search, and save the results."""
        check_installed()
        request = self.request
        spaces, defaults = {}, {}
        left_out: dict[tuple[str, str], list[str]] = {}
        for method in request.methods:
            space, config = space_of(method, request.configs_of(method)), self._config(method)
            reasons = space.left_out(config["data"])
            for option in reasons.items():
                left_out.setdefault(option, []).append(method)
            spaces[method] = space = space.without(reasons)
            defaults[method] = {key: _lookup(config, key, space, method) for key in space.dimensions}
        with self.directory.held():
            self.directory.check_and_note(request, spaces)
            for (key, reason), methods in left_out.items():
                self._watcher.notes(f"Not varied: {key} of {', '.join(methods)}, because {reason}.")
            warm_ups = self._warm_up()
            self.lanes = [
                Lane(method, spaces[method], defaults[method], self.directory.trials(method))
                for method in request.methods
            ]
            self.n_earlier = sum(len(lane.ended) for lane in self.lanes)
            self._watcher.begins(self)
            self._search(warm_ups)
            result = self._result(warm_ups)
            save(result)
            return result

    # ------------------------------------------------------------------ before the trials

    def _config(self, method: str) -> dict[str, Any]:
        """Let ``pauc fit`` check the options of a method, and return its settings."""
        self._executor.start(Job(f"check-{method}", print_config_arguments(self.request, method)))
        (ended,) = self._executor.wait(lambda job, progress: None)
        if ended.failure is not None:
            raise InputError(ended.failure.reason)
        config: dict[str, Any] = yaml.safe_load(ended.said.text)
        check_config(config, "pauc tune")
        check_validations(config, self.request.epochs_of(method))
        return config

    def _warm_up(self) -> dict[int, Path]:
        """Train the warm-ups that are missing, and return the checkpoints at their ends."""
        request = self.request
        if not any(map(request.has_warm_up, request.methods)):
            return {}
        if request.warm_ups is not None:
            return {seed: request.warm_ups[seed] for seed in request.seeds}
        found = {seed: self.directory.warm_up(seed) for seed in request.seeds}
        jobs = {
            _warm_up_title(seed): Job(
                _warm_up_title(seed), warm_up_arguments(request, seed, request.out), request.threads
            )
            for seed, checkpoint in found.items()
            if checkpoint is None
        }
        seeds = {_warm_up_title(seed): seed for seed in request.seeds}
        todo, n_running = list(jobs), 0
        while todo or n_running:
            while todo and n_running < self._executor.slots:
                self._start(jobs[todo.pop(0)])
                n_running += 1
            for ended in self._executor.wait(self._on_progress):
                n_running -= 1
                seed = seeds[ended.job.name]
                log = request.out / f"warmup-seed{seed}" / "log.txt"
                write_text(log, ended.said.text)
                if ended.failure is not None and ended.failure.is_mistake:
                    self.directory.withdraw()
                    raise InputError(ended.failure.reason)
                if ended.failure is not None:
                    raise InputError(
                        f"The {ended.job.name}, failed: {ended.failure.reason.rstrip('.')}. Its log is {log}."
                    )
                found[seed] = self.directory.finish_warm_up(seed)
                self._warnings |= dict.fromkeys(ended.said.warnings)
                self._watcher.ends(ended.job.name)
        return {seed: checkpoint for seed, checkpoint in found.items() if checkpoint is not None}

    # ------------------------------------------------------------------ the trials

    def _search(self, warm_ups: dict[int, Path]) -> None:
        # Rounds that were begun are finished, so that all methods have the same number of trials.
        begun = max(len(lane.trials) for lane in self.lanes)
        self.rounds = max(1, begun if self.request.trials is None else min(begun, self.request.trials))
        running: dict[str, tuple[Lane, int]] = {}
        while True:
            while len(running) < self._executor.slots and (found := self._next()) is not None:
                lane, trial = found
                job = self._job(lane, trial, warm_ups)
                running[job.name] = (lane, trial.number)
                lane.in_progress.add(trial.number)
                self._start(job)
            if not running:
                return
            for ended in self._executor.wait(self._on_progress):
                lane, number = running.pop(ended.job.name)
                lane.in_progress.discard(number)
                self._ended(lane, number, ended)

    def _next(self) -> tuple[Lane, Trial] | None:
        """Choose the next training: of a trial that has begun, or else of a new one in the earliest round."""
        for lane in self.lanes:
            trial = lane.waiting
            if trial is not None and trial.number < self._limit:
                return lane, trial
        for lane in sorted(self.lanes, key=lambda lane: len(lane.trials)):
            number = len(lane.trials)
            if number < self._limit and self._is_in_time(number) and lane.may_propose(self.width):
                return lane, self._propose(lane)
        return None

    @property
    def _limit(self) -> float:
        return float("inf") if self.request.trials is None else self.request.trials

    def _is_in_time(self, number: int) -> bool:
        """Whether a round may run: it was begun, or is expected to end in time."""
        if number < self.rounds:
            return True
        seconds = self.request.seconds
        if seconds is not None and self.elapsed + self.expected_round > seconds:
            self._is_over = True
        if self._is_over:
            return False
        self.rounds = number + 1
        return True

    @property
    def expected_round(self) -> float:
        """The seconds that one trial of each method is expected to take; 0 before one has ended."""
        known = [lane.expected_seconds for lane in self.lanes if lane.ended]
        return max(max(known), sum(known) / self._executor.slots) if known else 0.0

    def _propose(self, lane: Lane) -> Trial:
        number = len(lane.trials)
        known = max(0, number - self.width + 1)
        first = lane.space.first
        if number <= len(first):
            # The method as it is configured, and then with the settings that its file names.
            parameters = {**lane.default, **(first[number - 1] if number > 0 else {})}
        else:
            parameters = propose(
                lane.space,
                lane.trials[:known],
                [Trial(t.number, t.parameters, t.seeds) for t in lane.trials[known:]],  # as if none had ended
                number,
                f"{self.request.search_seed}/{lane.method}",
            )
        trial = Trial(number, parameters, self.request.seeds, known)
        self.directory.keep(lane.method, trial)
        lane.trials.append(trial)
        return trial

    def _job(self, lane: Lane, trial: Trial, warm_ups: dict[int, Path]) -> Job:
        seed = trial.next_seed
        assert seed is not None
        self.directory.clear_run(lane.method, trial.number, seed)
        is_pruned = self.request.pruning == "median" and trial.number > 0
        arguments = trial_arguments(
            self.request,
            lane.method,
            trial.parameters
            if trial.number > 0
            else {},  # the first is the method exactly as it is configured
            seed,
            self.directory.trial_folder(lane.method, trial.number),
            warm_ups.get(seed) if self.request.has_warm_up(lane.method) else None,
            bars(lane.trials[: trial.known], seed) if is_pruned else [],
        )
        return Job(f"{lane.method}, trial {trial.number}, seed {seed}", arguments, self.request.threads)

    def _ended(self, lane: Lane, number: int, ended: Ended) -> None:
        trial, method = lane.trials[number], lane.method
        seed = trial.next_seed
        assert seed is not None
        seconds = self._clock() - self._started.pop(ended.job.name)
        log = self.directory.log(method, number, seed)
        write_text(log, ended.said.text)
        run = self.directory.finished_run(method, number, seed, seconds) if ended.failure is None else None
        if run is None:
            reason = "it ended without a value" if ended.failure is None else ended.failure.reason.rstrip(".")
            run = TrialRun(seed, failure=f"{reason}. Its log is {log}.", seconds=seconds)
        self._warnings |= dict.fromkeys(ended.said.warnings)
        trial = lane.trials[number] = trial.with_run(run)
        self.directory.keep(method, trial)
        if trial.state != "running":
            self._keep_only_the_best_checkpoints(lane, trial)
        self._watcher.ends(ended.job.name, method, trial)

    def _keep_only_the_best_checkpoints(self, lane: Lane, trial: Trial) -> None:
        best = lane.best
        for other in lane.ended:
            if other is not best:
                self.directory.drop_checkpoints(lane.method, other)

    # ------------------------------------------------------------------ helpers

    def _start(self, job: Job) -> None:
        self._started[job.name] = self._clock()
        self._watcher.starts(job.name)
        self._executor.start(job)

    def _on_progress(self, job: Job, progress: Progress) -> None:
        self._watcher.progresses(job.name, progress)

    def _result(self, warm_ups: dict[int, Path]) -> TuneResult:
        # Trials beyond the common number, from an earlier search that was longer, do not count.
        common = int(min(self._limit, *(len(lane.ended) for lane in self.lanes)))
        methods = {
            lane.method: MethodResult(
                lane.method,
                lane.space,
                tuple(lane.trials[:common]),
                best_file(self.request.out, lane.method),
                self.request.out / lane.method,
            )
            for lane in self.lanes
        }
        return TuneResult(self.request, methods, warm_ups, tuple(self._warnings))


def _warm_up_title(seed: int) -> str:
    return f"warm-up, seed {seed}"


def _lookup(config: dict[str, Any], key: str, space: Space, method: str) -> Value:
    """Find the value of an option in the settings of ``pauc fit``."""
    node: Any = config
    for part in key.replace(".init_args.", ".").split("."):
        known: Sequence[str] = list(node.get("init_args", node)) if isinstance(node, dict) else []
        if part not in known:
            raise InputError(
                f"{space.where(key)}: {method} has no such option.{nearest(part, known)} "
                f"Correct or delete the line."
            )
        node = node.get("init_args", node)[part]
    if isinstance(node, (dict, list)):
        raise InputError(
            f"{space.where(key)} is not a number or a word: name one option of it, as in {key}.<option>."
        )
    value: Value = node
    return value
