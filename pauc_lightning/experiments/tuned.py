"""Tuned columns: the settings of each method are searched on the validation part before it is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pauc_lightning.experiments.cells import Cell, Run, Task, WarmUp
from pauc_lightning.experiments.commands import shared_configs
from pauc_lightning.experiments.directory import TASKS, ComparisonDirectory
from pauc_lightning.experiments.executors import Executor
from pauc_lightning.experiments.plan import Plan, Tuning
from pauc_lightning.region import Region

if TYPE_CHECKING:
    from pauc_lightning.tuning.request import TuneRequest
    from pauc_lightning.tuning.study import Watcher

Options = Mapping[Run, tuple[str, ...]]
"""The options that were found for each run."""
_FOLDER = "tuning-"


@dataclass(frozen=True)
class Search:
    """The search for the settings of all methods, for one task, region and seed.

    Every seed has a search of its own on its own split. A search for all seeds would let the settings see samples that
    are in the test part of another seed.

    Args:
        task: The data set and the backbone.
        region: The region.
        seed: The seed.
    """

    task: Task
    region: Region
    seed: int

    @property
    def folder(self) -> Path:
        """The directory of the search, below that of the comparison."""
        return self.task.folder / f"{_FOLDER}{self.region.name}-seed{self.seed}"

    @property
    def title(self) -> str:
        """The search's name in messages."""
        return f"{self.task.prefix}{self.region.title}, seed {self.seed}"


def searches(missing: Sequence[Cell]) -> list[Search]:
    """The searches that the missing runs wait for."""
    runs = (cell for cell in missing if isinstance(cell, Run))
    return list(dict.fromkeys(Search(run.task, run.region, run.seed) for run in runs))


def check_spaces(plan: Plan) -> None:
    """Reject search files that have changed since an earlier search of the comparison.

    Its means are over runs of all seeds, so all of them must have been searched in the same space, as must the methods
    of all regions and tasks.

    Raises:
        InputError: If a method has trials with another space.
    """
    from pauc_lightning.tuning.directory import TuningDirectory
    from pauc_lightning.tuning.space import space_of

    folders = [path for tasks in TASKS for path in sorted(plan.out.glob(f"{tasks}{_FOLDER}*/"))]
    for label, method in plan.methods.items():
        space = space_of(label, tuple(map(Path, method.configs)))
        for folder in folders:
            TuningDirectory(folder).check_space(label, space)


def tuned_options(
    plan: Plan,
    directory: ComparisonDirectory,
    common: Path | None,
    executor: Executor,
    todo: Sequence[Search],
    watch: Callable[[], AbstractContextManager[Watcher]],
) -> tuple[Options, dict[Cell, str]]:
    """Search for the settings of the methods; searches that were finished before are not repeated.

    Args:
        plan: The comparison.
        directory: Its directory, in which all warm-ups are finished.
        common: The file with the experiment's settings for every run, if it has any.
        executor: Runs the trials.
        todo: The searches.
        watch: Shows a search while it runs.

    Returns:
        The options for each run, and why others have none.
    """
    from pauc_lightning.tuning.study import tune  # needs Optuna, which comparisons without tuning do not

    found: dict[Run, tuple[str, ...]] = {}
    failures: dict[Cell, str] = {}
    for number, search in enumerate(todo, start=1):
        check_spaces(plan)  # again: a file may have been edited since
        print(f"Tuning {number} of {len(todo)}: {search.title}", flush=True)
        start = directory.warm_up_checkpoint(WarmUp(search.seed, search.task))
        with watch() as watcher:
            result = tune(
                _request(plan, search, common, start, _budget(plan, directory, search)), executor, watcher
            )
        for method, of in result.methods.items():
            run = Run(method, search.region, search.seed, search.task)
            if of.best is None:
                failures[run] = (
                    f"not run, because no trial has a value: {of.default.failure or 'all were given up.'}"
                )
            else:
                found[run] = of.options
    return found, failures


def _budget(plan: Plan, directory: ComparisonDirectory, search: Search) -> Tuning:
    """The budget of a search; once a method was tested, no other gets more trials than it had."""
    from pauc_lightning.tuning.directory import TuningDirectory

    assert plan.tuning is not None
    trials = TuningDirectory(plan.out / search.folder).trials
    tested = [
        len(trials(method))
        for method in plan.methods
        if directory.finished(Run(method, search.region, search.seed, search.task))
    ]
    return (
        Tuning(trials=min(tested))
        if plan.tuning.trials is None and tested and min(tested) > 0
        else plan.tuning
    )


def _request(
    plan: Plan, search: Search, common: Path | None, start: Path | None, budget: Tuning
) -> TuneRequest:
    """The same settings as those of the runs, with the same precedence."""
    from pauc_lightning.tuning.request import TuneRequest

    data, backbone = plan.variants_of_task(search.task)
    return TuneRequest(
        configs=(*shared_configs(plan, common), *data.configs, *backbone.configs),
        methods=tuple(plan.methods),
        out=plan.out / search.folder,
        region=search.region,
        trials=budget.trials,
        seconds=budget.seconds,
        seeds=(search.seed,),
        warmup_epochs=plan.warmup_epochs,
        epochs=plan.epochs,
        options=(*data.options, *backbone.options),
        method_options={
            label: (*method.options, *plan.extra, *data.last, *backbone.last, *method.last)
            for label, method in plan.methods.items()
        },
        method_configs={label: method.configs for label, method in plan.methods.items()},
        from_initial_weights=plan.methods_from_initial_weights,
        warm_ups=None if start is None else {search.seed: start},
        threads=plan.threads,
        command="pauc compare",
    )


def warm_ups_of(missing: Sequence[Cell]) -> Iterator[WarmUp]:
    """The warm-ups among the missing cells."""
    return (cell for cell in missing if isinstance(cell, WarmUp))
