"""The options of ``pauc tune``, checked before anything is trained.

Nothing slow is imported here, so that ``pauc tune --help`` answers at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pauc_lightning.cli.nearest import nearest
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.option_values import (
    EXECUTORS,
    LARGEST_SEED,
    check_misspelled,
    check_repeats,
    executor_kind,
    executor_options,
    method_config,
    minutes,
    region,
    taken_by,
    whole_number,
)
from pauc_lightning.experiments.variant import option_names
from pauc_lightning.tuning.request import TuneRequest
from pauc_lightning.tuning.space import space_of

DESCRIPTION = """\
Search for the best settings of methods on the validation part, with the same number
of trials for every method. Nothing is tested. Needs Optuna: pip install
'pauc-lightning[tune]'.

  pauc tune -c digits --methods ce upauci --trials 20

All other options go to every `pauc fit`, for example --model.backbone SmallCNN.
"""

NOTES = """\
The first trial of a method is the method as it is configured. What the others vary is
in configs/method/<method>.search.yaml; methods without such a file vary learning_rate
and weight_decay. All trials start at the end of the same cross-entropy warm-up.

The same command continues a search that was interrupted; more --trials or --methods
add to it. --out gets best_<method>.yaml for `pauc fit -c`, all trials (trials.csv), the
table (table.md) and a figure (tuning.png). If a method has no trial with a value, the
exit status is 1.
"""

_NOT_TO_BE_GIVEN = {
    "run_dir": "give --out instead",
    "run_name": "its runs are named after method, trial and seed",
    "seed_everything": "give --seeds instead",
    "data.seed": "give --seeds instead",
    "trainer.max_epochs": "give --epochs and --warmup_epochs instead",
    "model": "give --methods instead",
    "model.class_path": "give --methods instead",
    "model.max_fpr": "give --region instead",
    "model.min_tpr": "give --region instead",
    "model.warmup_epochs": "give --warmup_epochs instead",
    "model.init_weights": "every trial starts from the common warm-up",
    "test_best": "a search must not see the test part",
    "ckpt_path": "to continue a search, type its command again",
    "checkpoint.monitor": "trials are chosen by the partial AUC on the validation part",
    "checkpoint.mode": "trials are chosen by the partial AUC on the validation part",
    "checkpoint.dirpath": "every run is kept in --out",
    "trainer.fast_dev_run": "it saves nothing; for a quick look give --epochs 1 --trials 2",
    "trainer.logger": "every run is kept in --out; for W&B give --wandb",
    "trainer.enable_checkpointing": "trials start from a checkpoint",
    "print_config": "a trial's settings are in its config.yaml",
}
"""Options of ``pauc fit`` that a search sets itself or cannot work with, and what to do instead."""


@dataclass(frozen=True)
class Options:
    """What ``pauc tune`` was asked for.

    Args:
        request: The search.
        executor: Where the trainings run.
        processes: Number of trainings at the same time.
        executor_options: Options of the executor.
    """

    request: TuneRequest
    executor: str
    processes: int
    executor_options: Mapping[str, Any]


def parse(argv: Sequence[str], command: str) -> Options:
    """Read and check the options.

    Args:
        argv: The options.
        command: The command as typed.

    Raises:
        InputError: If there is a mistake in them.
        SystemExit: After printing the help.
    """
    parser = _parser()
    arguments, extra = parser.parse_known_args(argv)
    _check_names(extra)
    check_misspelled(
        extra, [name.lstrip("-") for action in parser._actions for name in action.option_strings]
    )
    check_repeats("--methods", arguments.methods)
    for method in (*arguments.methods, "ce"):
        space_of(method, (method_config(method),))
    seeds = [whole_number("--seeds", text, 0, LARGEST_SEED) for text in arguments.seeds]
    check_repeats("--seeds", list(map(str, seeds)))
    limit = None if arguments.minutes is None else minutes("--minutes", arguments.minutes)
    trials = arguments.trials or ("20" if limit is None else None)
    request = TuneRequest(
        configs=tuple(arguments.config),
        methods=tuple(arguments.methods),
        out=Path(arguments.out),
        region=region("--region", arguments.region),
        trials=None if trials is None else whole_number("--trials", trials, 1),
        seconds=None if limit is None else 60 * limit,
        seeds=tuple(seeds),
        warmup_epochs=whole_number("--warmup_epochs", arguments.warmup_epochs, 0),
        epochs=whole_number("--epochs", arguments.epochs, 1),
        pruning=arguments.pruning,
        search_seed=whole_number("--search_seed", arguments.search_seed, 0),
        options=tuple(extra),
        method_options=_method_options(arguments.only_for, arguments.methods),
        threads=whole_number("--threads", arguments.threads, 1),
        command=command,
    )
    processes = whole_number("--processes", arguments.processes, 1)
    kind = executor_kind(arguments.executor, processes)
    return Options(request, kind, processes, executor_options(arguments.executor_options))


def _parser() -> PlainParser:
    parser = PlainParser(
        prog="pauc tune",
        usage="pauc tune -c DATA [--methods METHOD ...] [options]",
        description=DESCRIPTION,
        epilog=NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("-c", "--config", action="append", default=[], metavar="NAME", help="config file, as for pauc fit")
    add(
        "--methods",
        nargs="+",
        default=["ce", "upauci"],
        metavar="NAME",
        help="names of methods, see `pauc configs`",
    )
    add("--trials", metavar="N", help="trials of each method (default: 20, or no limit with --minutes)")
    add(
        "--minutes",
        metavar="N",
        help="start no round of trials that would end later; all methods get the same number",
    )
    add(
        "--region",
        default="0.3",
        metavar="FPR[,TPR]",
        help="max_fpr, or max_fpr,min_tpr for a two-way region",
    )
    add(
        "--seeds",
        nargs="+",
        default=["0"],
        metavar="N",
        help="one split per seed; a trial's value is the mean over them",
    )
    add(
        "--warmup_epochs",
        default="10",
        metavar="N",
        help="epochs of the warm-up; with 0, trials start from initial weights",
    )
    add("--epochs", default="20", metavar="N", help="epochs of each trial after the warm-up")
    add(
        "--pruning",
        default="median",
        choices=("median", "none"),
        metavar="RULE",
        help="give up trials below the median of the earlier ones: median or none",
    )
    add("--search_seed", default="0", metavar="N", help="decides the proposed settings")
    add(
        "--for",
        nargs="+",
        action="append",
        default=[],
        dest="only_for",
        metavar="NAME",
        help="options for one method only: --for upauci model.omega=0",
    )
    add("--out", default="runs/tune", metavar="DIR", help="directory for all trials")
    add("--processes", default="1", metavar="N", help="trainings at a time, each in its own process")
    add("--threads", default="1", metavar="N", help="threads of one training")
    add("--executor", choices=EXECUTORS, metavar="KIND", help=f"where to train: {', '.join(EXECUTORS)}")
    add(
        "--executor_options",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="options of the executor, such as gpus_per_job=1",
    )
    return parser


def _method_options(given: Sequence[Sequence[str]], methods: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for method, *pairs in given:
        if method not in methods:
            raise InputError(
                f"`--for {method}`: no such method.{nearest(method, methods)} Given are --methods {' '.join(methods)}."
            )
        if not pairs or not all("=" in pair for pair in pairs):
            raise InputError(
                f"`--for {' '.join([method, *pairs])}`: write `--for {method} model.weight_decay=0.001`."
            )
        options = tuple(f"--{pair.removeprefix('--')}" for pair in pairs)
        _check_names(options)
        found[method] = (*found.get(method, ()), *options)
    return found


def _check_names(extra: Sequence[str]) -> None:
    for name in option_names(extra):
        taken = taken_by(name, _NOT_TO_BE_GIVEN)
        if taken is not None:
            raise InputError(f"`--{name}` cannot be given to pauc tune: {_NOT_TO_BE_GIVEN[taken]}.")
        if name.endswith(".help"):
            raise InputError(f"`--{name}` is an option of pauc fit: type pauc fit --{name}.")
