"""Linear scorers of a comparison beside scikit-learn's logistic regression, on the same parts of the same data.

A gain over cross-entropy means little if the cross-entropy was trained badly. Logistic regression is the same model
and the same loss plus a penalty, solved to its optimum. For each data set and seed of a finished `pauc compare` with
a linear scorer, it is fitted to the same training part. The region's partial AUC on the same validation part chooses
among twelve settings (six penalties, with and without balanced class weights), and the chosen one is tested on the
same test part. The tables show each method minus logistic regression, with intervals of the same kind as in the
comparison: below zero, the method is behind.
"""

from __future__ import annotations

import csv
import itertools
import statistics
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from lightning.pytorch import LightningDataModule
from numpy.typing import NDArray
from tqdm import tqdm

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.data import LongTailDataModule
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.data_files import checksum_of
from pauc_lightning.experiments.interval import LEVEL, Interval, corrected_interval
from pauc_lightning.experiments.note import read_json
from pauc_lightning.experiments.table import AHEAD, BEHIND
from pauc_lightning.files import check_folder, write_text
from pauc_lightning.inference.build import build
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.region import Region
from pauc_lightning.run_directory import RunDirectory

INVERSE_PENALTIES = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
"""scikit-learn's C: from a penalty under which hardly anything is learned to nearly none."""
CLASS_WEIGHTS = (None, "balanced")


class Part(NamedTuple):
    """Samples as arrays."""

    inputs: NDArray[np.float32]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class Parts:
    """The three parts of a data set."""

    train: Part
    validation: Part
    test: Part


@dataclass(frozen=True)
class Row:
    """What a comparison found for one data set and region: the value of each method and seed.

    Args:
        data: The label of the data set; empty if there is one only.
        backbone: The label of the backbone; empty if there is one only.
        region: The region.
        values: By method and seed.
    """

    data: str
    backbone: str
    region: Region
    values: Mapping[str, Mapping[int, float]]

    @property
    def seeds(self) -> list[int]:
        """The seeds for which every method has a value."""
        return sorted(set.intersection(*(set(of) for of in self.values.values())))


def read_rows(comparison: Path) -> list[Row]:
    """Read the test results of a finished comparison.

    Args:
        comparison: Its directory.
    """
    path = comparison / "table.csv"
    if not path.is_file():
        raise InputError(f"`{comparison}` is not a finished comparison: it has no table.csv.")
    found: dict[tuple[str, str, Region], dict[str, dict[int, float]]] = {}
    for line, row in _lines(path):
        if row["quantity"] == "test_pauc":
            try:
                key = row["data"], row["backbone"], Region(float(row["max_fpr"]), float(row["min_tpr"]))
                found.setdefault(key, {})[row["method"]] = _by_seed(row)
            except (ValueError, TypeError) as error:  # TypeError: the line is too short
                raise _damaged(f"{path}, line {line}", error) from error
    if len({frozenset(of) for of in found.values()}) > 1:
        raise _damaged(path, "it does not have the same methods everywhere")
    return [Row(data, backbone, region, of) for (data, backbone, region), of in found.items()]


def _lines(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The lines of a table with their numbers."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file, restkey="rest")
            lines = [(reader.line_num, row) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise _damaged(path, error) from error
    if not {"quantity", "data", "backbone", "method", "max_fpr", "min_tpr"} <= set(reader.fieldnames or ()):
        raise InputError(f"{path} is not the table of a comparison: give the directory of a `pauc compare`.")
    return lines


def _damaged(where: Path | str, what: object) -> InputError:
    return InputError(
        f"{where} is damaged ({what}): type the command of the comparison again, which writes the table anew."
    )


def _by_seed(row: Mapping[str, str]) -> dict[int, float]:
    """The value of each seed that has one."""
    return {
        int(name.removeprefix("seed_")): float(value)
        for name, value in row.items()
        if name.startswith("seed_") and value
    }


def run_of(comparison: Path, row: Row, seed: int) -> RunDirectory:
    """Find a finished run of the row, from which the data can be built again."""
    method = next(iter(row.values))
    folder = comparison / row.data / row.backbone / f"{method}-{row.region.name}-seed{seed}"
    runs = [RunDirectory(path.parent) for path in sorted(folder.glob("version_*/config.yaml"))]
    if not runs:
        raise InputError(f"{folder} holds no run: complete the comparison by typing its command again.")
    return runs[-1]


def is_linear(run: RunDirectory) -> bool:
    """Whether the run has a linear scorer."""
    name = run.settings()["model"]["init_args"]["backbone"]["class_path"]
    return name in ("LinearScorer", "pauc_lightning.models.LinearScorer")


def check_data(comparison: Path) -> None:
    """Refuse data that have changed since: the methods were trained with others."""
    path = comparison / "comparison.json"
    note = read_json(path, "restore it, or compare again with another --out") if path.is_file() else {}
    for name, checksum in note.get("data_files", {}).items():
        now = checksum_of(Path(name))
        if now is None:
            raise InputError(
                f"`{comparison}` was made with the data in {name}, which is not there: restore the file, or type the "
                "command in the directory in which `pauc compare` was typed."
            )
        if now != checksum:
            raise InputError(
                f"`{comparison}` was made with other data: {name} has changed since. Restore it, or compare again."
            )


def parts_of(run: RunDirectory) -> Parts:
    """Build the run's data again, with the inputs that its network saw."""
    data: Any = build(LightningDataModule, run.settings()["data"], "data")
    if not isinstance(data, LongTailDataModule):
        raise InputError(
            f"{run.path} has data of another kind than those of this package: {type(data).__name__}."
        )
    data.prepare_data()
    data.setup("fit")
    data.setup("test")
    loaders = (data.scoring_dataloader(), data.val_dataloader(), data.test_dataloader())
    return Parts(*(_arrays(loader) for loader in loaders))


def _arrays(loader: Any) -> Part:
    batches = [(batch[0].flatten(1), batch[1]) for batch in loader]
    inputs, labels = (torch.cat(column) for column in zip(*batches, strict=True))
    return Part(inputs.numpy().astype(np.float32), labels.numpy().astype(np.int64))


Scores = tuple[NDArray[Any], NDArray[Any]]
"""Of the validation and the test part."""


def fits(parts: Parts) -> Iterator[Scores]:
    """Fit logistic regression with every penalty and class weight; yield the scores of each."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    for c, weight in itertools.product(INVERSE_PENALTIES, CLASS_WEIGHTS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the validation part chooses
            model = LogisticRegression(C=c, class_weight=weight, max_iter=300).fit(*parts.train)
        yield model.decision_function(parts.validation.inputs), model.decision_function(parts.test.inputs)


def chosen_value(parts: Parts, scores: Sequence[Scores], region: Region) -> float:
    """The partial AUC on the test part of the scores that are best on the validation part, the first of equals."""
    value = partial(binary_partial_auc, max_fpr=region.max_fpr, min_tpr=region.min_tpr)
    best = max(scores, key=lambda of: float(value(of[0], parts.validation.labels)))
    return float(value(best[1], parts.test.labels))


def report(
    rows: Sequence[Row],
    logistic: Mapping[tuple[str, Region, int], float],
    test_over_train: Mapping[str, float],
) -> str:
    """Write a table for each region: logistic regression, and how far each method is from it.

    Args:
        rows: The results of the comparison.
        logistic: The test values of logistic regression by data set, region and seed.
        test_over_train: For each data set, the size of the test part over that of the training part.
    """
    texts = []
    for region in dict.fromkeys(row.region for row in rows):
        some = [row for row in rows if row.region == region]
        methods = list(some[0].values)
        lines = [["data", "logistic regression", *methods]]
        means: dict[str, list[float]] = {method: [] for method in methods}
        for row in some:
            own = [logistic[row.data, region, seed] for seed in row.seeds]
            cells = []
            for method in methods:
                differences = [
                    row.values[method][seed] - other for seed, other in zip(row.seeds, own, strict=True)
                ]
                means[method].append(statistics.mean(differences))
                cells.append(_cell(differences, corrected_interval(differences, test_over_train[row.data])))
            lines.append([_title(row, some), f"{statistics.mean(own):.4f}", *cells])
        if len(some) > 1:
            lines.append(["mean", "", *(f"{statistics.mean(means[method]):+.3f}" for method in methods)])
        rule = ["---"] * len(lines[0])
        table = "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])
        texts.append(f"{region.title}, methods minus logistic regression:\n\n{table}")
    note = (
        f"In brackets {LEVEL:.0%} intervals over the seeds, corrected for overlapping splits; {AHEAD} ahead of "
        f"logistic regression, {BEHIND} behind: the interval excludes zero. Penalty and class weights of logistic "
        f"regression are the best of {len(INVERSE_PENALTIES) * len(CLASS_WEIGHTS)} on the validation part of each seed."
    )
    return "\n\n".join([*texts, note])


def _title(row: Row, rows: Sequence[Row]) -> str:
    """The row's data set, with its backbone if the data set has several linear ones."""
    are_several = sum(other.data == row.data for other in rows) > 1
    return ", ".join(filter(None, (row.data, row.backbone if are_several else ""))) or row.backbone or "-"


def _cell(differences: Sequence[float], interval: Interval | None) -> str:
    mean = f"{statistics.mean(differences):+.3f}"
    if interval is None:
        return mean
    mark = {1: f" {AHEAD}", -1: f" {BEHIND}", 0: ""}[interval.side]
    return f"{mean} [{interval.low:+.3f}, {interval.high:+.3f}]{mark}"


def _left_out(rows: Sequence[Row]) -> Iterator[str]:
    """Name the results that are not used, because other methods have none for the seed."""
    lost = [
        ", ".join(filter(None, (row.data, row.backbone, row.region.title, method, f"seed {seed}")))
        for row in rows
        for method, values in row.values.items()
        for seed in sorted(set(values) - set(row.seeds))
    ]
    if lost:
        yield f"Left out, because another method has no result for the seed: {'; '.join(lost)}."


def main(argv: Sequence[str] | None = None) -> None:
    """Compare the linear scorers of a finished `pauc compare` with scikit-learn's logistic regression."""
    parser = PlainParser(prog="pauc benchmark logistic", description=main.__doc__, epilog=__doc__)
    parser.add_argument("comparison", type=Path, help="the directory of the comparison, such as runs/compare")
    folder: Path = parser.parse_args(argv).comparison
    found = read_rows(folder)
    check_folder("comparison", folder)  # which gets the table
    complete = [row for row in found if row.seeds]
    if not complete:
        raise InputError(
            f"`{folder}` has no seed for which every method has a result: complete the comparison by typing its "
            "command again."
        )
    check_data(folder)
    rows = [row for row in complete if is_linear(run_of(folder, row, row.seeds[0]))]
    if not rows:
        raise InputError(
            f"`{folder}` has no linear scorer, the only network that logistic regression is equal to: compare with "
            "`--model.backbone LinearScorer`."
        )
    linear = [row for row in found if row.backbone in {other.backbone for other in rows}]
    pairs = {(row.data, seed): row for row in rows for seed in row.seeds}
    logistic: dict[tuple[str, Region, int], float] = {}
    test_over_train: dict[str, float] = {}
    number = len(INVERSE_PENALTIES) * len(CLASS_WEIGHTS)
    with tqdm(total=len(pairs) * number, unit="fit", leave=False) as bar:
        for (data, seed), row in pairs.items():
            bar.set_description(f"{data}, seed {seed}" if data else f"seed {seed}")
            parts = parts_of(run_of(folder, row, seed))
            test_over_train.setdefault(data, len(parts.test.labels) / len(parts.train.labels))
            scores = []
            for one in fits(parts):
                scores.append(one)
                bar.update()
            for other in rows:
                if other.data == data and seed in other.seeds:
                    logistic[data, other.region, seed] = chosen_value(parts, scores, other.region)
    text = "\n\n".join([report(rows, logistic, test_over_train), *_left_out(linear)])
    print(text)
    write_text(folder / "logistic.md", text + "\n")
    print(f"\nSaved: {folder / 'logistic.md'}")
