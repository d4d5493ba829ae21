"""Objectives of XGBoost and LightGBM for the partial AUC, tuned equally: log-loss, weighted, ranking, and ours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import torch
from tqdm import tqdm

from pauc_lightning.arguments import check_integer
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.durations import in_words
from pauc_lightning.errors import InputError
from pauc_lightning.experiments import lock
from pauc_lightning.experiments.trees.boosters import Length
from pauc_lightning.experiments.trees.report import as_markdown, summary, times, write_csv
from pauc_lightning.experiments.trees.search import Library, Method, check_libraries
from pauc_lightning.experiments.trees.study import Plan, Result, cells, check_directory, n_trainings, run_cell
from pauc_lightning.experiments.trees.tables import Table, load_table, made_up_table
from pauc_lightning.files import check_folder, write_text
from pauc_lightning.region import Region

EPILOG = (
    "Each table is split by each seed into 0.7, 0.15 and 0.15 for training, validation and test; equal rows stay "
    "together. Each objective gets the same number of trials of random search, with the same draws of the common "
    "settings; trial and number of trees are chosen by the region's partial AUC on the validation part. Results are "
    "kept in --out after each objective: the same command continues where it was stopped."
)


def run(plan: Plan, tables: Sequence[Table], out: Path) -> list[Result]:
    """Do all that has not been done yet; return all results.

    Args:
        plan: What to compare.
        tables: The tables.
        out: The directory of the results.
    """
    results = []
    named = {table.name: table for table in tables}
    todo = list(cells(plan, list(named)))
    total = sum(n_trainings(plan, cell.method) for cell in todo)
    with tqdm(total=total, unit="training", leave=False) as bar:
        split: tuple[str, int] | None = None
        for cell in todo:
            bar.set_description(f"{cell.table}, {cell.library}, {cell.method}, seed {cell.seed}")
            table = named[cell.table]
            if split != (cell.table, cell.seed):
                split, parts = (cell.table, cell.seed), table.split(cell.seed, plan.train_rows)
            before = bar.n
            results.append(run_cell(cell, plan, table, parts, out, bar.update))
            bar.update(before + n_trainings(plan, cell.method) - bar.n)  # those that were there already
    return results


def main(argv: Sequence[str] | None = None) -> None:
    """Train XGBoost and LightGBM with several objectives, tune them equally, and compare their partial AUCs."""
    parser = PlainParser(prog="pauc benchmark trees", description=main.__doc__, epilog=EPILOG)
    add = parser.add_argument
    add("--data", type=Path, nargs="+", help="CSV, TSV or Parquet files (default: a made-up table)")
    add("--label", default="label", help="the column with labels 0 and 1 (default label)")
    add("--regions", type=float, nargs="+", default=[0.01, 0.05], help="largest FPRs (default 0.01 0.05)")
    add(
        "--libraries",
        nargs="+",
        choices=get_args(Library),
        default=list(get_args(Library)),
        help="who trains",
    )
    add(
        "--methods",
        nargs="+",
        choices=get_args(Method),
        default=list(get_args(Method)),
        help="the objectives",
    )
    add("--seeds", type=int, nargs="+", default=[0, 1, 2], help="one split for each (default 0 1 2)")
    add("--trials", type=int, default=10, help="trials of each objective on each split (default 10)")
    add("--rounds", type=int, default=300, help="largest number of trees (default 300)")
    add("--patience", type=int, default=30, help="rounds without a gain before a training ends (default 30)")
    add("--train_rows", type=int, help="train on at most so many rows (default: all)")
    add("--threads", type=int, default=1, help="threads of each training (default 1)")
    add("--out", type=Path, default=Path("runs/trees"), help="directory of the results (default runs/trees)")
    arguments = parser.parse_args(argv)
    for name in ("trials", "rounds", "patience", "threads"):
        check_integer(f"--{name}", getattr(arguments, name), at_least=1)
    if arguments.train_rows is not None:
        check_integer("--train_rows", arguments.train_rows, at_least=100)
    for seed in arguments.seeds:
        check_integer("--seeds", seed, at_least=0)
    plan = Plan(
        libraries=tuple(dict.fromkeys(arguments.libraries)),
        methods=tuple(dict.fromkeys(arguments.methods)),
        regions=tuple(dict.fromkeys(Region(region).max_fpr for region in arguments.regions)),
        seeds=tuple(dict.fromkeys(arguments.seeds)),
        trials=arguments.trials,
        train_rows=arguments.train_rows,
        length=Length(arguments.rounds, arguments.patience),
        threads=arguments.threads,
    )
    check_libraries(list(plan.libraries))
    tables = [load_table(path, arguments.label) for path in arguments.data or ()] or [made_up_table()]
    if len({table.name for table in tables}) < len(tables):
        raise InputError(
            "`--data` names two files alike: rename one, as results are kept by the files' names."
        )
    out: Path = arguments.out
    check_folder("--out", out)
    with lock.held(out, "`pauc benchmark trees`"), _torch_threads(plan.threads):
        check_directory(out, plan)
        results = run(plan, tables, out)
        text = as_markdown(results, plan.regions)
        write_text(out / "table.md", text)
        write_csv(out / "results.csv", results)
    print("\n".join(filter(None, (text, summary(results, plan.regions), times(results)))))
    n, seconds = sum(result.trainings for result in results), sum(result.seconds for result in results)
    print(
        f"{n} trainings, {in_words(seconds)} of processor time; the chosen settings are in {out / 'results.csv'}."
    )
    print("Next:  more `--seeds` make the intervals narrower; what is there is not trained again.")


@contextlib.contextmanager
def _torch_threads(number: int) -> Iterator[None]:
    """Let the objective use as many threads as the libraries."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


if __name__ == "__main__":
    main()
