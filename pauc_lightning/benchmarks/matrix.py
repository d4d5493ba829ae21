"""Time of many small runs by `pauc compare`, beside plain loops over tensors that train the same methods."""

from __future__ import annotations

import contextlib
import copy
import csv
import io
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import SGD
from torch.optim.lr_scheduler import CosineAnnealingLR
from tqdm import tqdm

from pauc_lightning.cli import main as run_pauc
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.config_files import shipped_folder
from pauc_lightning.errors import InputError
from pauc_lightning.experiments import compare
from pauc_lightning.metrics.functional import binary_partial_auc
from pauc_lightning.models import LinearScorer
from pauc_lightning.objectives import PAUCILoss, UPAUCILoss
from pauc_lightning.optim import ASGDA

METHODS = ("ce", "pauci", "upauci")
MAX_FPR = 0.05
PRIOR = 0.05
"""Fraction of positives in the table."""
Step = Callable[[Tensor, Tensor], None]
"""Trains on one batch."""


@dataclass(frozen=True)
class Size:
    """How much is trained.

    Args:
        seeds: Number of seeds; every method is trained once with each.
        rows: Rows of the table; 0.7 of them are for training, 0.15 for validation and 0.15 for the test.
        columns: Columns of the table, the inputs.
        epochs: Epochs of each run, each followed by a validation.
        batch: Rows per batch.
    """

    seeds: int
    rows: int
    columns: int
    epochs: int
    batch: int

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self.seeds * len(METHODS)


@dataclass
class Times:
    """Seconds of all runs of one kind.

    Args:
        wall: By the clock.
        processor: Of this process's processors.
    """

    wall: float = 0.0
    processor: float = 0.0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Add the time of the block."""
        wall, processor = time.perf_counter(), time.process_time()
        yield
        self.wall += time.perf_counter() - wall
        self.processor += time.process_time() - processor


# ---------------------------------------------------------------------- plain loops


def plain_run(method: str, inputs: Tensor, target: Tensor, size: Size, seed: int) -> float:
    """Train by the shortest loop that one would write by hand; return the partial AUC on the test part.

    It does what a run does that matters for its result: shuffled batches, a validation after each epoch, and the test
    of the weights that validated best. It logs, checks and saves nothing.
    """
    torch.manual_seed(seed)
    train, val, test = torch.randperm(size.rows).split(part_sizes(size.rows))
    model = LinearScorer()
    model(inputs[:2])  # lets the lazy layer take its size
    step = _step(method, model, size.epochs * math.ceil(len(train) / size.batch))
    best, weights = -1.0, model.state_dict()
    for _ in range(size.epochs):
        for rows in train[torch.randperm(len(train))].split(size.batch):
            step(inputs[rows], target[rows])
        value = _partial_auc(model, inputs[val], target[val])
        if value > best:
            best, weights = value, copy.deepcopy(model.state_dict())
    model.load_state_dict(weights)
    return _partial_auc(model, inputs[test], target[test])


def part_sizes(rows: int) -> list[int]:
    """The sizes of the training, validation and test parts."""
    n_train, n_val = round(0.7 * rows), round(0.15 * rows)
    return [n_train, n_val, rows - n_train - n_val]


def _step(method: str, model: nn.Module, steps: int) -> Step:
    """The training step of a method, with the settings that its config has."""
    if method == "ce":
        sgd = SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

        def descend(inputs: Tensor, target: Tensor) -> None:
            sgd.zero_grad()
            loss = F.binary_cross_entropy_with_logits(model(inputs).squeeze(1), target.float())
            loss.backward()
            sgd.step()

        return descend
    objective = {"pauci": PAUCILoss, "upauci": UPAUCILoss}[method](MAX_FPR, prior=PRIOR)
    asgda = ASGDA([{"params": model.parameters(), "weight_decay": 1e-4}, *objective.param_groups()])
    schedule = CosineAnnealingLR(asgda, T_max=steps)

    def descend_and_ascend(inputs: Tensor, target: Tensor) -> None:
        def closure() -> Tensor:
            asgda.zero_grad()
            loss: Tensor = objective(model(inputs).squeeze(1).sigmoid(), target)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            return loss

        asgda.step(closure)
        schedule.step()

    return descend_and_ascend


@torch.no_grad()
def _partial_auc(model: nn.Module, inputs: Tensor, target: Tensor) -> float:
    return float(binary_partial_auc(model(inputs).squeeze(1).sigmoid(), target, MAX_FPR))


# ---------------------------------------------------------------------- pauc compare


def compare_arguments(table: Path, out: Path, size: Size) -> list[str]:
    """The options of ``pauc compare`` for the same runs."""
    return [
        *(
            "-c",
            str(shipped_folder() / "data" / "tabular.yaml"),
            "--data.path",
            str(table),
            "--data.label",
            "label",
        ),
        *("--model.backbone", "LinearScorer", "--data.batch_size", str(size.batch)),
        *("--methods", *METHODS, "--regions", str(MAX_FPR), "--seeds", *map(str, range(size.seeds))),
        *("--warmup_epochs", "0", "--epochs", str(size.epochs), "--out", str(out)),
    ]


def compared_runs(table: Path, out: Path, size: Size, on_run: Callable[[], None]) -> list[float]:
    """Train all runs by one ``pauc compare`` in this process; return the partial AUCs on the test part.

    Args:
        table: The CSV file.
        out: Where the runs go.
        size: How much is trained.
        on_run: Called when a run has ended.
    """
    with contextlib.redirect_stdout(_Lines(on_run)) as said:
        try:
            compare.main(compare_arguments(table, out, size), run_pauc=run_pauc)
        except SystemExit as stopped:
            raise RuntimeError(f"pauc compare failed:\n{said.getvalue()}") from stopped
    with (out / "table.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["quantity"] == "test_pauc"]
    return [float(row[f"seed_{seed}"]) for row in rows for seed in range(size.seeds)]


class _Lines(io.StringIO):
    """Keeps what the comparison prints, and notices its line for each finished run."""

    def __init__(self, on_run: Callable[[], None]) -> None:
        super().__init__()
        self._on_run = on_run

    def write(self, text: str) -> int:
        for _ in range(text.count("seed ")):
            self._on_run()
        return super().write(text)


# ---------------------------------------------------------------------- measurement


def write_table(path: Path, inputs: Tensor, target: Tensor) -> None:
    """Write the rows as a CSV file with the label in the last column."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{i}" for i in range(inputs.shape[1])), "label"])
        writer.writerows([*row, label] for row, label in zip(inputs.tolist(), target.tolist(), strict=True))


def random_rows(size: Size) -> tuple[Tensor, Tensor]:
    """Gaussian inputs, whose mean is higher for positives, and labels."""
    generator = torch.Generator().manual_seed(0)
    target = (torch.rand(size.rows, generator=generator) < PRIOR).long()
    return torch.randn(size.rows, size.columns, generator=generator) + 0.5 * target[:, None], target


def measure(size: Size) -> str:
    """Time both, and return the report."""
    inputs, target = random_rows(size)
    plain, compared = Times(), Times()
    plain_values: list[float] = []
    with tempfile.TemporaryDirectory() as folder, tqdm(total=2 * size.runs, unit="run", leave=False) as bar:
        table = Path(folder, "table.csv")
        write_table(table, inputs, target)
        # Imports, and what torch sets up at first use, are paid before the clock starts.
        trial = Size(1, size.rows, size.columns, 1, size.batch)
        compared_runs(table, Path(folder, "trial"), trial, on_run=lambda: None)
        runs = [(method, seed) for seed in range(size.seeds) for method in METHODS]
        half = len(runs) // 2  # half of the plain loops before and half after, as machines change their speed

        def plain_loops(some: Sequence[tuple[str, int]]) -> None:
            for method, seed in some:
                with plain.running():
                    plain_values.append(plain_run(method, inputs, target, size, seed))
                bar.update()

        bar.set_description("plain loops")
        plain_loops(runs[:half])
        bar.set_description("pauc compare")
        with compared.running():
            values = compared_runs(table, Path(folder, "runs"), size, bar.update)
        bar.set_description("plain loops")
        plain_loops(runs[half:])
    return report(size, plain, compared, (plain_values, values))


def report(size: Size, plain: Times, compared: Times, values: tuple[list[float], list[float]]) -> str:
    """The table of both."""
    lines = [
        f"{size.runs} runs ({', '.join(METHODS)}; {size.seeds} seeds) of a linear scorer, {size.rows:,} rows of "
        f"{size.columns} numbers, {size.epochs} epochs, batches of {size.batch}",
        f"{'':32}{'plain loops':>13}{'pauc compare':>14}{'ratio':>8}",
    ]
    for name in ("wall", "processor"):
        title = {"wall": "seconds per run", "processor": "seconds of processor time"}[name]
        ours, theirs = (getattr(times, name) / size.runs for times in (compared, plain))
        lines.append(f"{title:32}{theirs:13.3f}{ours:14.3f}{ours / theirs:7.2f}x")
    means = [statistics.mean(one) for one in values]
    lines.append(f"{'mean partial AUC on the test':32}{means[0]:13.4f}{means[1]:14.4f}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """Time many small runs by `pauc compare` in this process, and plain loops over tensors that train the same."""
    parser = PlainParser(prog="pauc benchmark matrix", description=main.__doc__)
    integers = {
        "runs": (100, 3, "runs, rounded up to a multiple of the number of methods"),
        "rows": (10_000, 400, "rows of the table"),
        "columns": (10, 1, "columns of the table, the inputs"),
        "epochs": (60, 1, "epochs of each run"),
        "batch": (512, 2, "rows per batch"),
        "threads": (1, 1, "threads of torch"),
    }
    for name, (default, _, text) in integers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{text} (default {default})")
    arguments = parser.parse_args(argv)
    for name, (_, smallest, _) in integers.items():
        if getattr(arguments, name) < smallest:
            raise InputError(f"`--{name}` must be at least {smallest}, got {getattr(arguments, name)}.")
    seeds = math.ceil(arguments.runs / len(METHODS))
    threads = torch.get_num_threads()
    torch.set_num_threads(arguments.threads)
    try:
        print(measure(Size(seeds, arguments.rows, arguments.columns, arguments.epochs, arguments.batch)))
    finally:
        torch.set_num_threads(threads)


if __name__ == "__main__":
    main()
