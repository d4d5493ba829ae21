"""The options of ``pauc features``. Imports nothing slow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pauc_lightning.arguments import check_integer, check_path
from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.errors import InputError
from pauc_lightning.features.recipe import INTERPOLATIONS

DESCRIPTION = """\
Turn images into a table: the features that a pretrained network computes before its classifier, one row for each image.
A linear scorer or an MLP trains on such a table in seconds.

  pauc features --images photos --network resnet50 --output features.parquet
  pauc fit -c tabular -c upauci --data.path features.parquet --data.label label --data.id_column file \\
    --data.positive_values '[cat]' --model.backbone LinearScorer

The folder is <folder>/<class>/<image> or <folder>/{train,val,test}/<class>/<image>, as ImageFolderLT reads it. The
columns are file, label and f0000, f0001, ... A command that was stopped goes on where it was when it is typed again.
"""


@dataclass(frozen=True)
class Request:
    """What the user asked for; None stands for the network's own setting."""

    images: Path
    output: Path
    network: str | None
    weights: str | None
    image_size: int | None
    interpolation: str | None
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    like: Path | None
    unlabelled: bool
    batch_size: int | None
    device: str
    overwrite: bool


def parse(argv: Sequence[str]) -> Request:
    """The request that the options describe; invalid ones raise :class:`InputError`."""
    parser = PlainParser(prog="pauc features", description=DESCRIPTION)
    parser.add_argument("--images", metavar="FOLDER", required=True, help="Folder of the images")
    parser.add_argument(
        "--network",
        metavar="NAME",
        help="timm's name of the network, such as resnet50; required without --like",
    )
    parser.add_argument(
        "--weights",
        metavar="FILE",
        help="Local file of its weights: .safetensors, .pth, or a .ckpt of `pauc fit` with TimmModel; if left out, "
        "timm downloads its own",
    )
    parser.add_argument(
        "--output", metavar="FILE", default="features.parquet", help="The table, a .parquet file"
    )
    parser.add_argument("--overwrite", action="store_true", help="Replace the --output file if it exists")
    parser.add_argument(
        "--image_size",
        type=int,
        metavar="PIXELS",
        help="Height and width to which images are scaled and cut; if left out, the network's own, often 224. Small "
        "images need less: 96 for those of 32",
    )
    parser.add_argument(
        "--interpolation",
        choices=INTERPOLATIONS,
        help="How images are scaled; if left out, the network's own",
    )
    for name, purpose in (
        ("mean", "Subtracted from colours, which are from 0 to 1"),
        ("std", "Their divisor"),
    ):
        parser.add_argument(
            f"--{name}",
            type=float,
            nargs="+",
            metavar="FLOAT",
            help=f"{purpose}: one number, or one for each channel; if left out, the network's own",
        )
    parser.add_argument(
        "--like",
        metavar="TABLE",
        help="An earlier table of features: take the network and all settings from it, for new images",
    )
    parser.add_argument(
        "--unlabelled",
        action="store_true",
        help="All images of the folder and its subfolders, without a label column, for `pauc predict --input`",
    )
    parser.add_argument(
        "--batch_size",
        type=int,
        metavar="INT",
        help="Images at a time; does not change the features. If left out, 16 on a CPU and 256 elsewhere",
    )
    parser.add_argument("--device", default="auto", metavar="NAME", help="Hardware: cpu, cuda, mps or auto")
    given = parser.parse_args(argv)
    request = Request(
        Path(given.images),
        Path(given.output),
        given.network,
        given.weights,
        given.image_size,
        given.interpolation,
        None if given.mean is None else _channels("mean", given.mean),
        None if given.std is None else _channels("std", given.std),
        None if given.like is None else Path(given.like),
        given.unlabelled,
        given.batch_size,
        given.device,
        given.overwrite,
    )
    _check(request)
    return request


def _check(request: Request) -> None:
    for name in ("images", "output"):
        check_path(name, getattr(request, name))
    if request.batch_size is not None:
        check_integer("batch_size", request.batch_size, at_least=1)
    if request.like is None and request.network is None:
        raise InputError(
            "`pauc features` needs --network, timm's name of a network such as resnet50, or --like, an earlier table."
        )
    if request.like is not None:
        for name in ("network", "image_size", "interpolation", "mean", "std"):
            if getattr(request, name) is not None:
                raise InputError(
                    f"`--{name}` and `--like` contradict each other: --like takes the settings of {request.like}; "
                    "leave one of them out."
                )
    if request.output.suffix != ".parquet":
        raise InputError(f"`output={request.output}` must end in .parquet, the format of the table.")
    if request.output.is_dir():
        raise InputError(f"`output={request.output}` is a folder: give the name of a file.")
    if request.output.exists() and not request.overwrite:
        raise InputError(f"`output={request.output}` exists: choose another name, or add --overwrite.")


def _channels(name: str, values: Sequence[float]) -> tuple[float, ...]:
    """One number for each colour channel."""
    if len(values) not in (1, 3):
        raise InputError(f"`{name}` takes one number or three, one for each channel, got {len(values)}.")
    return tuple(values) * (3 // len(values))
