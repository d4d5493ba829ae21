"""The options of ``pauc compare``, checked before anything is trained.

Nothing slow is imported here, so that ``pauc compare --help`` answers at once.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pauc_lightning.cli.nearest import nearest
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.config_files import find_config, list_configs
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.cells import Cell, Run, WarmUp
from pauc_lightning.region import Region

LARGEST_SEED = 2**32 - 1

DESCRIPTION = """\
Train methods from the same cross-entropy warm-up, for each region and seed, and
compare their test results.

  pauc compare -c digits --methods ce pauci upauci --regions 0.3 0.3,0.7

All other options go to every `pauc fit`, for example --model.backbone SmallCNN.
"""

NOTES = """\
Every method starts at the end of the warm-up. Seeds change the split, the initial
weights and the order of the batches. The same command continues a comparison that
was interrupted: finished runs are not repeated.

--out gets the table (table.md, table.csv), the ROC curves on the test part (roc.png)
and a directory for each run with its log. Runs that collapsed or failed are marked
in the table; if any failed, the exit status is 1.

--train_part also evaluates the models on the training part: the partial AUC, and the
squared risk, the mean of (1 - (f+ - f-))^2 over the region's pairs, which PAUCI and
UPAUCI minimise. A method that lowers the risk but not the ranking error there has the
wrong surrogate; one that is ahead there but not on the test part overfits.
"""

_NOT_TO_BE_GIVEN = {
    "run_dir": "give --out instead",
    "run_name": "its runs are named after method, region and seed",
    "seed_everything": "give --seeds instead",
    "data.seed": "give --seeds instead",
    "trainer.max_epochs": "give --epochs and --warmup_epochs instead",
    "model": "give --methods instead",
    "model.class_path": "give --methods instead",
    "model.max_fpr": "give --regions instead",
    "model.min_tpr": "give --regions instead",
    "model.warmup_epochs": "give --warmup_epochs instead",
    "model.init_weights": "every method starts from the common warm-up",
    "test_best": "every run is tested at its best epoch",
    "ckpt_path": "to continue a comparison, type its command again",
    "trainer.fast_dev_run": "it saves nothing; for a quick look give --epochs 1 --seeds 0",
    "trainer.logger": "every run is kept in --out; for W&B give --wandb",
    "trainer.enable_checkpointing": "the methods start from a checkpoint and are tested at one",
    "print_config": "a run's settings are in its config.yaml",
}
"""Options of ``pauc fit`` that a comparison sets itself or cannot work with, and what to do instead."""


@dataclass(frozen=True)
class Plan:
    """A comparison: every method, for every region, with every seed.

    Args:
        configs: Config files, as for ``pauc fit``.
        methods: Names of the methods.
        regions: The regions to train for and test in.
        seeds: Each method is trained once per region and seed.
        warmup_epochs: Epochs of the common warm-up; 0 means none.
        epochs: Epochs of each method.
        baseline: The method to which the others are compared.
        train_part: Whether to evaluate the models on the training part, too.
        out: The directory of all runs.
        extra: Options for every ``pauc fit``.
    """

    configs: tuple[str, ...]
    methods: tuple[str, ...]
    regions: tuple[Region, ...]
    seeds: tuple[int, ...]
    warmup_epochs: int
    epochs: int
    baseline: str
    train_part: bool
    out: Path
    extra: tuple[str, ...]

    @property
    def runs(self) -> list[Run]:
        """All runs, grouped by seed."""
        return [
            Run(method, region, seed)
            for seed in self.seeds
            for region in self.regions
            for method in self.methods
        ]

    def epochs_of(self, cell: Cell) -> int:
        """The number of epochs that a cell trains for."""
        return self.warmup_epochs if isinstance(cell, WarmUp) else self.epochs


def method_config(method: str) -> Path:
    """Find a method's config file: in ``configs/method`` here, or among those that come with the project."""
    if Path(method).name != method:
        raise InputError(
            f"`--methods {method}`: give a name, not a path. Own files go to configs/method/<name>.yaml."
        )
    try:
        return find_config(f"method/{method}")
    except InputError as error:
        known = sorted(
            {Path(name).name for _, name, _ in list_configs() if Path(name).parent.name == "method"}
        )
        raise InputError(
            f"`--methods {method}`: no such method.{nearest(method, known)} Known: {', '.join(known)}."
        ) from error


def parse(argv: Sequence[str]) -> Plan:
    """Read and check the options.

    Raises:
        InputError: If there is a mistake in them.
        SystemExit: After printing the help.
    """
    parser = _parser()
    arguments, extra = parser.parse_known_args(argv)
    _check_extra(extra, own=[action.dest for action in parser._actions])
    methods = _without_repeats("--methods", arguments.methods, arguments.methods)
    for method in (*methods, "ce"):
        method_config(method)
    regions = [_region(text) for text in arguments.regions]
    _without_repeats("--regions", arguments.regions, [region.name for region in regions])
    seeds = [_whole_number("--seeds", text, 0, LARGEST_SEED) for text in arguments.seeds]
    _without_repeats("--seeds", arguments.seeds, seeds)
    baseline = arguments.baseline or methods[0]
    if baseline not in methods:
        raise InputError(f"`--baseline {baseline}` is not among --methods {' '.join(methods)}: add it.")
    return Plan(
        configs=tuple(arguments.config),
        methods=tuple(methods),
        regions=tuple(regions),
        seeds=tuple(seeds),
        warmup_epochs=_whole_number("--warmup_epochs", arguments.warmup_epochs, 0),
        epochs=_whole_number("--epochs", arguments.epochs, 1),
        baseline=baseline,
        train_part=arguments.train_part,
        out=Path(arguments.out),
        extra=tuple(extra),
    )


def _parser() -> PlainParser:
    parser = PlainParser(
        prog="pauc compare",
        usage="pauc compare -c DATA [--methods METHOD ...] [options]",
        description=DESCRIPTION,
        epilog=NOTES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "-c", "--config", action="append", default=[], metavar="NAME", help="config file, as for pauc fit"
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        default=["ce", "pauci", "upauci"],
        metavar="NAME",
        help="names of methods, see `pauc configs`",
    )
    parser.add_argument(
        "--regions",
        nargs="+",
        default=["0.3"],
        metavar="FPR[,TPR]",
        help="max_fpr, or max_fpr,min_tpr for a two-way region",
    )
    parser.add_argument(
        "--seeds",
        nargs="+",
        default=["0", "1", "2"],
        metavar="N",
        help="seeds; everything is run once per seed",
    )
    parser.add_argument(
        "--warmup_epochs",
        default="10",
        metavar="N",
        help="epochs of the warm-up; with 0, methods start from initial weights",
    )
    parser.add_argument("--epochs", default="20", metavar="N", help="epochs of each method after the warm-up")
    parser.add_argument(
        "--baseline", metavar="NAME", help="method to which the others are compared (default: the first)"
    )
    parser.add_argument("--train_part", action="store_true", help="evaluate on the training part, too")
    parser.add_argument(
        "--out",
        default="runs/compare",
        metavar="DIR",
        help="directory for all runs",
    )
    return parser


def _check_extra(extra: Sequence[str], own: Sequence[str]) -> None:
    for name in option_names(extra):
        # The beginning of such a name gets the same answer as the whole name.
        for taken, instead in _NOT_TO_BE_GIVEN.items():
            if taken.startswith(name) and taken.count(".") == name.count("."):
                raise InputError(f"`--{name}` cannot be given to pauc compare: {instead}.")
        if name.endswith(".help"):
            raise InputError(f"`--{name}` is an option of pauc fit: type pauc fit --{name}.")
        close = difflib.get_close_matches(
            name, own, n=1, cutoff=0.75
        )  # strict, as it may be an option of pauc fit
        if close:
            raise InputError(f"`--{name}` is not an option. Did you mean `--{close[0]}`?")


def option_names(extra: Sequence[str]) -> Iterator[str]:
    """Yield the names in a list of options, however they are written.

    Example:
        >>> list(option_names(["--data.init_args.seed=3", "--trainer.callbacks+=Timer", "--run_dir", "here"]))
        ['data.seed', 'trainer.callbacks', 'run_dir']
    """
    for text in extra:
        if text.startswith("--"):
            yield text[2:].split("=", 1)[0].rstrip("+").replace(".init_args.", ".")


def _without_repeats(option: str, texts: Sequence[str], values: Sequence[object]) -> Sequence[str]:
    """Return the texts if all values differ."""
    for position, value in enumerate(values):
        if value in values[:position]:
            first = texts[list(values).index(value)]
            same = "" if first == texts[position] else f", which is the same as {first},"
            raise InputError(
                f"`{option} {' '.join(texts)}`: {texts[position]}{same} is given twice. Give it once."
            )
    return texts


def _whole_number(option: str, text: str, least: int, most: int | None = None) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least or (most is not None and number > most):
        upper = "" if most is None else f" and at most {most}"
        raise InputError(f"`{option} {text}`: give a whole number that is at least {least}{upper}.")
    return number


def _region(text: str) -> Region:
    try:
        rates = [float(part) for part in text.split(",")]
    except ValueError:
        rates = []
    if len(rates) not in (1, 2):
        raise InputError(
            f"`--regions {text}`: write max_fpr, such as 0.3, or max_fpr,min_tpr, such as 0.3,0.7."
        )
    try:
        return Region(*rates)
    except InputError as error:
        raise InputError(f"`--regions {text}`: {error}") from error
