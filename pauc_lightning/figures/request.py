"""The options of a figure: the runs to draw, or what to train for it. Nothing slow is imported here."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from pauc_lightning.cli.configs import find_and_check
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.experiments.option_values import region
from pauc_lightning.experiments.variant import option_names

_TRAINING = ("config", "methods", "region", "seeds", "warmup_epochs", "epochs", "processes", "threads")
NORMAL = ("--data=GaussianLT", "--model.backbone=LinearScorer")
"""Data with thousands of test samples, on which cross-entropy is known to miss the corner."""
_NOT_TO_BE_GIVEN = {
    "regions": "give one --region",
    "tuned": "tune by `pauc compare --tuned N`, and draw the directory of that comparison",
    "train_part": "it has no effect on a figure",
    "baseline": "give it to pauc compare, and draw its gains by pauc figure gains",
    "best_of": "give it to pauc compare, and draw its gains by pauc figure gains",
}
"""Options of ``pauc compare`` that a figure has no use for, and what to do instead."""


@dataclass(frozen=True)
class Training:
    """What a figure trains if no runs are named.

    Args:
        methods: Methods.
        region: Region, as it is typed.
        seeds: Seeds.
        warmup_epochs: Epochs of the common warm-up.
        epochs: Epochs of each method.
        data: Options that name the data and the backbone.
        about: What these are, in words.
    """

    methods: tuple[str, ...] = ("ce", "pauci", "upauci")
    region: str = "0.3"
    seeds: tuple[str, ...] = ("0", "1", "2")
    warmup_epochs: str = "5"
    epochs: str = "20"
    data: tuple[str, ...] = ("-c", "digits")
    about: str = "the embedded digits"


@dataclass(frozen=True)
class FigureRequest:
    """What ``pauc figure NAME`` was asked for.

    Args:
        name: The figure.
        runs: Directories of runs and comparisons, each with the label given to it, if any.
        compare: Options of ``pauc compare``, which trains; empty if runs are named.
        out: Where to write.
        own: All options as they were typed.
        command: The command, to type again.
    """

    name: str
    runs: tuple[tuple[str, Path], ...]
    compare: tuple[str, ...]
    out: Path
    own: argparse.Namespace
    command: str = ""
    methods: tuple[str, ...] = field(default=())


def parse(
    name: str,
    description: str,
    argv: Sequence[str],
    training: Training,
    add_options: Callable[[PlainParser], None] = lambda parser: None,
    epilog: str = "",
) -> FigureRequest:
    """Read and check the words after the figure's name.

    Args:
        name: The figure.
        description: What it shows, with an example.
        argv: The words: runs first, then options.
        training: What is trained without runs.
        add_options: Adds the figure's own options.
        epilog: Further explanations at the end of the help.

    Raises:
        InputError: If there is a mistake in them.
        SystemExit: After printing the help.
    """
    words = list(takewhile(lambda word: not word.startswith("-"), argv))
    parser = _parser(name, description, training, epilog)
    add_options(parser)
    own, others = parser.parse_known_args(argv[len(words) :])
    typed = sys.argv[1:] if sys.argv[1:2] == ["figure"] else ["figure", name, *argv]
    request = FigureRequest(
        name,
        tuple(map(labelled, words)),
        (),
        Path(own.out or f"runs/figures/{name}"),
        own,
        shlex.join(["pauc", *typed]),
    )
    if words:
        _refuse_training(own, others)
        return request
    for option in option_names(others):
        if option in _NOT_TO_BE_GIVEN:
            raise InputError(
                f"`--{option}` cannot be given to pauc figure {name}: {_NOT_TO_BE_GIVEN[option]}."
            )
    return _with_training(request, others, training)


def _parser(name: str, description: str, training: Training, epilog: str) -> PlainParser:
    parser = PlainParser(
        prog=f"pauc figure {name}",
        usage=f"pauc figure {name} [RUN ...] [options]",
        description=description,
        epilog=f"{epilog}All other options go to every `pauc fit`, for example --model.backbone SmallCNN.\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--out", metavar="DIR", help=f"where to write the figure (default: runs/figures/{name})")
    add(
        "-c",
        "--config",
        action="append",
        metavar="NAME",
        help=f"data to train on, as for pauc fit (default: {training.about})",
    )
    if training.methods:
        add(
            "--methods",
            nargs="+",
            metavar="NAME",
            help=f"methods to train (default: {' '.join(training.methods)})",
        )
    add(
        "--region",
        metavar="FPR[,TPR]",
        help=f"max_fpr, or max_fpr,min_tpr for a two-way region (default: {training.region})",
    )
    add("--seeds", nargs="+", metavar="N", help=f"seeds (default: {' '.join(training.seeds)})")
    add(
        "--warmup_epochs",
        metavar="N",
        help=f"epochs of the common warm-up (default: {training.warmup_epochs})",
    )
    add("--epochs", metavar="N", help=f"epochs of each method (default: {training.epochs})")
    add("--processes", metavar="N", help="trainings at a time (default: 1)")
    add("--threads", metavar="N", help="threads of one training (default: 1)")
    return parser


def labelled(word: str, what: str = "run") -> tuple[str, Path]:
    """Read ``PATH`` or ``NAME=PATH``.

    Args:
        word: The word.
        what: What the path names, for the message.
    """
    label, is_labelled, path = word.partition("=")
    if not is_labelled or Path(word).exists():
        return "", Path(word)
    if not label or not path:
        raise InputError(f"`{word}`: write NAME=PATH to give the {what} in PATH a name.")
    return label, Path(path)


def _refuse_training(own: argparse.Namespace, others: Sequence[str]) -> None:
    given = [f"--{name}" for name in _TRAINING if getattr(own, name, None) is not None]
    for option in [*given, *others][:1]:
        raise InputError(
            f"`{option}` is for training, but runs are named, which are drawn as they are: leave out one of them."
        )


def _with_training(request: FigureRequest, others: Sequence[str], training: Training) -> FigureRequest:
    """Add the options with which ``pauc compare`` trains what the figure needs."""
    own = request.own
    rate = own.region or training.region
    region("--region", rate)  # `pauc compare` would call it by another name
    methods = tuple(getattr(own, "methods", None) or training.methods)
    names_data = own.config or any(name in ("data", "data.class_path") for name in option_names(others))
    compare = [
        *([] if names_data else find_and_check(training.data)),
        *(part for path in own.config or () for part in ("-c", path)),
        *others,
        *(("--methods", *methods) if methods else ()),
        *("--regions", rate, "--seeds", *(own.seeds or training.seeds)),
        *("--warmup_epochs", own.warmup_epochs or training.warmup_epochs),
        *("--epochs", own.epochs or training.epochs),
        *("--processes", own.processes or "1", "--threads", own.threads or "1"),
        *("--out", str(request.out)),
    ]
    return FigureRequest(request.name, (), tuple(compare), request.out, own, request.command, methods)
