"""Finds the runs that a figure shows: those that are named, or those that it trains."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pauc_lightning.cli.configs import read_config
from pauc_lightning.errors import InputError
from pauc_lightning.experiments import request as compare_request
from pauc_lightning.experiments.compare import RunPauc, make_comparison
from pauc_lightning.experiments.paper import timings
from pauc_lightning.experiments.plan import Plan
from pauc_lightning.figures.request import FigureRequest
from pauc_lightning.region import Region
from pauc_lightning.run_directory import RunDirectory

_CELL = re.compile(r"(.+)-(?:auc|[ot]pauc_.+)-seed\d+")
_NAMES = {
    "upauci": "UPAUCI",
    "upauci_ascent": "UPAUCI, stored c",
    "ce_cosine": "CE, cosine",
    "hard_ce": "HardCE",
    "partial_auc": "PartialAUC",
}
"""Names of methods that are not in the paper's tables of times, from which the others come."""


@dataclass(frozen=True)
class FigureRun:
    """A run to draw.

    Args:
        path: Its directory.
        method: The label of its method.
        region: The region that it was trained for.
        seed: Its seed.
        task: The data set and the backbone, if a comparison has several; empty otherwise.
    """

    path: Path
    method: str
    region: Region
    seed: int
    task: str = ""

    @property
    def name(self) -> str:
        """The method's name in figures: the paper's, if it has one."""
        return shown_name(self.method)

    @property
    def panel(self) -> str:
        """The title of the panel that shows the run."""
        return f"{self.task}: {self.region.title}" if self.task else self.region.title


def shown_name(method: str) -> str:
    """The name of a method in figures.

    Example:
        >>> shown_name("auc_m"), shown_name("my_method")
        ('AUC-M', 'my_method')
    """
    known = {timing.method: timing.paper_method for timing in timings()} | _NAMES
    return known.get(method, method)


def shown_names(methods: Sequence[str]) -> dict[str, str]:
    """The names of methods in one figure: their labels, where two would have the same name.

    Example:
        >>> shown_names(["auc_m", "AUC-M", "ce"])
        {'auc_m': 'auc_m', 'AUC-M': 'AUC-M', 'ce': 'CE'}
    """
    names = {method: shown_name(method) for method in methods}
    used = Counter(names.values())
    return {method: name if used[name] == 1 else method for method, name in names.items()}


def runs_of(request: FigureRequest, run_pauc: RunPauc, extra: Sequence[str] = ()) -> list[FigureRun]:
    """The runs to draw, in the order of the methods; they are trained if none are named.

    Args:
        request: What was asked for.
        run_pauc: The ``pauc`` command, which trains.
        extra: Options for every ``pauc fit``.
    """
    if request.runs:
        return find_runs(request.runs)
    return trained(compare_request.parse([*request.compare, *extra]), request.command, run_pauc)


def trained(plan: Plan, command: str, run_pauc: RunPauc) -> list[FigureRun]:
    """Train the runs of a plan that are missing; return all that succeeded.

    Raises:
        InputError: If no run succeeded.
        SystemExit: With status 130 if it was interrupted.
    """
    comparison = make_comparison(plan, run_pauc, command)
    try:
        with comparison.held():
            comparison.train()
    except KeyboardInterrupt:
        print(f"\nInterrupted; finished runs are kept. To continue, type:\n  {command}", file=sys.stderr)
        raise SystemExit(130) from None
    runs = [
        FigureRun(folder, run.method, run.region, run.seed, run.task.title)
        for run in plan.runs
        if (folder := comparison.directory.finished(run)) is not None
    ]
    for cell, reason in comparison.failures.items():
        if not runs:
            raise InputError(f"No run succeeded. {cell.title}: {reason}")
        print(f"Left out: {cell.title}: {reason}", file=sys.stderr)
    return runs


def find_runs(named: Sequence[tuple[str, Path]]) -> list[FigureRun]:
    """The runs in directories of runs and of comparisons, with the labels given to them.

    Raises:
        InputError: If a directory holds no run.
    """
    found: list[FigureRun] = []
    for label, path in named:
        if (path / "comparison.json").is_file():
            cells = list(_cells(path, label))
            if not cells:
                raise InputError(
                    f"`{path}` is a comparison without a finished run: type its command again to train them."
                )
            found += cells
        else:
            found.append(_read(RunDirectory.open(str(path)).path, label, ""))
    return found


def _cells(comparison: Path, label: str) -> Iterator[FigureRun]:
    """The newest finished run of each cell, the cells in the order in which the comparison names its methods."""
    newest: dict[Path, Path] = {}
    for results in sorted(comparison.glob("**/version_*/test_metrics.json"), key=_age):
        cell = results.parents[1]
        if _CELL.fullmatch(cell.name):
            newest[cell] = results.parent
    methods = list(read_config(comparison / "comparison.json").get("methods", {}))
    runs = []
    for cell, folder in newest.items():
        matched = _CELL.fullmatch(cell.name)
        assert matched is not None
        task = ", ".join(cell.relative_to(comparison).parts[:-1])
        runs.append(_read(folder, f"{label} {matched[1]}".strip(), task))
    order = {name: position for position, name in enumerate(methods)}
    yield from sorted(runs, key=lambda run: (run.task, order.get(run.method, len(order)), run.seed))


def _age(path: Path) -> float:
    return path.stat().st_mtime


def _read(folder: Path, label: str, task: str) -> FigureRun:
    config = read_config(folder / "config.yaml", f"`{folder / 'config.yaml'}`")
    try:
        model: dict[str, Any] = config["model"]
        settings = model["init_args"]
        region = Region(float(settings["max_fpr"]), float(settings.get("min_tpr") or 0.0))
        method = label or str(model["class_path"]).rpartition(".")[2]
        return FigureRun(folder, method, region, int(config["seed_everything"]), task)
    except (KeyError, TypeError) as error:
        raise InputError(
            f"`{folder}` is not a run of a method of this project: its config.yaml has no {error}."
        ) from error
