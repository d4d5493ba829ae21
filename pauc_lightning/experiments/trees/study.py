"""Trains, tunes and tests every objective on every split, and does nothing twice."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pauc_lightning.errors import InputError
from pauc_lightning.experiments.trees.boosters import Length, make_booster
from pauc_lightning.experiments.trees.search import Library, Method, Settings, draw
from pauc_lightning.experiments.trees.tables import Parts, Table
from pauc_lightning.files import write_text
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.trees import partial_auc_metric


@dataclass(frozen=True)
class Plan:
    """What is compared, and how much work each objective gets.

    Args:
        libraries: Who trains.
        methods: The objectives.
        regions: The largest false-positive rate of each region.
        seeds: One split for each.
        trials: Settings tried for each objective, region, library and split.
        train_rows: Largest number of rows trained on; None means all.
        length: How long one training lasts.
        threads: Number of threads.
    """

    libraries: tuple[Library, ...]
    methods: tuple[Method, ...]
    regions: tuple[float, ...]
    seeds: tuple[int, ...]
    trials: int
    train_rows: int | None
    length: Length
    threads: int

    @property
    def settings(self) -> dict[str, Any]:
        """What must not differ between the results of one directory."""
        return {
            "regions": list(self.regions),
            "trials": self.trials,
            "train_rows": self.train_rows,
            "rounds": self.length.rounds,
            "patience": self.length.patience,
        }


@dataclass(frozen=True)
class Chosen:
    """The best of the trials of an objective for a region.

    Args:
        max_fpr: The region.
        validation: Its partial AUC on the validation part.
        test: The same on the test part.
        rounds: Number of trees.
        settings: The settings.
    """

    max_fpr: float
    validation: float
    test: float
    rounds: int
    settings: Settings


@dataclass(frozen=True)
class Cell:
    """One objective of one library on one split of one table."""

    table: str
    library: Library
    method: Method
    seed: int

    @property
    def file(self) -> str:
        """The name of the file with its result."""
        return f"{self.table}-{self.library}-{self.method}-seed{self.seed}.json"


@dataclass(frozen=True)
class Result:
    """What came out of a cell.

    Args:
        cell: The cell.
        fingerprint: The table's checksum.
        chosen: The best trial for each region.
        trainings: Number of models trained.
        seconds: Processor time for all of them.
    """

    cell: Cell
    fingerprint: str
    chosen: tuple[Chosen, ...]
    trainings: int
    seconds: float


def cells(plan: Plan, tables: Sequence[str]) -> Iterator[Cell]:
    """All cells, in an order in which tables that come first are soon complete."""
    for table in tables:
        for seed in plan.seeds:
            for library in plan.libraries:
                yield from (Cell(table, library, method, seed) for method in plan.methods)


def n_trainings(plan: Plan, method: Method) -> int:
    """Number of models that a cell trains: one trial counts for all regions unless the objective knows its region."""
    return plan.trials * (len(plan.regions) if method == "partial_auc" else 1)


def check_directory(out: Path, plan: Plan) -> None:
    """Note the settings in ``study.json``; refuse a directory that holds results made with others."""
    path = out / "study.json"
    if path.is_file():
        earlier = _read(path)
        for key, value in plan.settings.items():
            if earlier.get(key) != value:
                raise InputError(
                    f"`--out {out}` holds results made with other settings ({key}: {earlier.get(key)}, now {value}): "
                    "give another --out. Tables, libraries, methods and seeds may differ: they are added."
                )
    else:
        write_text(path, json.dumps(plan.settings, indent=2) + "\n")


def run_cell(
    cell: Cell, plan: Plan, table: Table, parts: Parts, out: Path, on_training: Callable[[], None]
) -> Result:
    """Train the cell's trials, or read the result if it is there.

    Args:
        cell: What to train.
        plan: The whole study.
        table: The cell's table.
        parts: Its parts for the cell's seed.
        out: The directory of the results.
        on_training: Called after each training.
    """
    path = out / cell.file
    if path.is_file():
        result = read_result(path)
        if result.fingerprint != table.fingerprint:
            raise InputError(
                f"{path} was made from another table with the name {table.name}: give another --out, or rename the "
                "file."
            )
        return result
    began = time.process_time()
    chosen = _search(cell, plan, parts, on_training)
    seconds = time.process_time() - began
    result = Result(cell, table.fingerprint, chosen, n_trainings(plan, cell.method), round(seconds, 2))
    write_text(path, json.dumps(dataclasses.asdict(result), indent=2) + "\n")
    return result


def _search(cell: Cell, plan: Plan, parts: Parts, on_training: Callable[[], None]) -> tuple[Chosen, ...]:
    booster = make_booster(cell.library, cell.method, parts, plan.length, plan.threads)
    best: dict[float, Chosen] = {}
    goals = [(region,) for region in plan.regions] if cell.method == "partial_auc" else [plan.regions]
    for regions in goals:
        metrics = [partial_auc_metric(region) for region in regions]
        for trial in range(plan.trials):
            settings = draw(trial, cell.seed, cell.library, cell.method, regions[0])
            curves, test_scores = booster.train(settings, metrics)
            on_training()
            for region, curve in zip(regions, curves, strict=True):
                value = max(curve)
                if region not in best or value > best[region].validation:
                    rounds = curve.index(value) + 1
                    test = float(binary_partial_auc(test_scores(rounds), parts.test.target, region))
                    best[region] = Chosen(region, value, test, rounds, settings)
    return tuple(best[region] for region in plan.regions)


def read_result(path: Path) -> Result:
    """Read a cell's result."""
    content = _read(path)
    try:
        chosen = tuple(
            Chosen(**{**one, "settings": Settings(**one["settings"])}) for one in content["chosen"]
        )
        return Result(**{**content, "cell": Cell(**content["cell"]), "chosen": chosen})
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{path} is no result of `pauc benchmark trees`: delete it, and start again."
        ) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}): delete it, and start again.") from error
    if not isinstance(content, dict):
        raise InputError(f"{path} is no result of `pauc benchmark trees`: delete it, and start again.")
    return content
