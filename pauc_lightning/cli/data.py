"""``pauc data``: the sizes of a data set's parts and classes beside the paper's, and its split as a file."""

from __future__ import annotations

import sys
from argparse import SUPPRESS
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pauc_lightning.arguments import check_path
from pauc_lightning.cli.configs import given_configs, read_config
from pauc_lightning.cli.nearest import nearest
from pauc_lightning.cli.pages import show_page
from pauc_lightning.errors import InputError

if TYPE_CHECKING:
    from jsonargparse import Namespace

    from pauc_lightning.data.base import LongTailDataModule

HELP = """\
usage: pauc data (-c CONFIG | --data CLASS) [options]

Show the size of each part and class of a data set, beside the paper's numbers.

Examples:
  pauc data -c cifar10_lt_1
  pauc data --data DigitsLT --data.seed 1 --export split.json

Options:
  -c, --config CONFIG   a config with a data section, by name or path;
                        other sections, such as the model's, are ignored
  --data CLASS          a data module, such as DigitsLT or my_file.MyData
  --data.OPTION VALUE   an option of the data module
  --data.help CLASS     list the options of a data module
  --all_classes         list every class (default: an excerpt of more than 20)
  --export FILE         write the split to a JSON file, for --data.split_file
"""

_OPTIONS = ("-c", "--config", "--data", "--all_classes", "--export")
# Stands for Any: with Any itself, the parser would instantiate everything that looks like a class.
_ANY_YAML: Any = dict | list | str | bool | int | float | None


def main(argv: Sequence[str] | None = None) -> None:
    """Describe the data set that the options name; invalid options raise :class:`InputError`."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if {"-h", "--help"} & set(arguments):
        show_page(HELP)
        raise SystemExit(0)
    config, data = _build(arguments)
    from pauc_lightning.cli.data_tables import print_tables

    print_tables(data, config.all_classes)
    if config.export is not None:
        replaced = " It replaces the file that was there." if Path(config.export).exists() else ""
        data.export_split(config.export)
        sys.stdout.write(f"\nThe split is in {config.export}: use it with --data.split_file.{replaced}\n")


def _build(arguments: list[str]) -> tuple[Namespace, LongTailDataModule]:
    """The parsed options and the data module that they describe."""
    _check_data_given(arguments)
    from lightning.pytorch import LightningDataModule

    from pauc_lightning.cli.parser import PaucArgumentParser
    from pauc_lightning.data import LongTailDataModule

    parser = PaucArgumentParser(prog="pauc data")
    parser.add_argument("-c", "--config", action="config")
    parser.add_argument("--export", type=str | None, default=None)
    parser.add_argument("--all_classes", action="store_true")
    parser.add_subclass_arguments(LightningDataModule, "data", required=True)
    for key in _other_sections(arguments):
        parser.add_argument(f"--{key}", type=_ANY_YAML, help=SUPPRESS)
    config = parser.parse_args(arguments)
    if config.export is not None:
        check_path("export", config.export)
    # jsonargparse 4.49 renamed the method.
    instantiate = parser.instantiate if hasattr(parser, "instantiate") else parser.instantiate_classes
    data = instantiate(config).data
    if not isinstance(data, LongTailDataModule):
        raise InputError(
            f"`data={type(data).__name__}` has no classes and parts to count: `pauc data` describes data modules "
            "that derive from LongTailDataModule."
        )
    return config, data


def _other_sections(arguments: list[str]) -> list[str]:
    """The keys of the config files that this command ignores, such as ``model`` and ``trainer``."""
    keys = {key for content in _configs(arguments) for key in content}
    return sorted(keys - {"data", "config", "export", "all_classes"})


def _check_data_given(arguments: list[str]) -> None:
    """Refuse a command line that names no data, and say how to name them."""
    options = [argument.partition("=")[0] for argument in arguments if argument.startswith("-")]
    is_named = any(option.split(".")[0] == "--data" for option in options)
    if not (is_named or any("data" in content for content in _configs(arguments))):
        unknown = next((option for option in options if option not in _OPTIONS), None)
        if unknown is not None:
            close = nearest(unknown, _OPTIONS)
            raise InputError(
                f"`{unknown}` is not an option of `pauc data`.{close} `pauc data --help` lists them."
            )
        table = next((word for word in arguments if word.endswith((".csv", ".tsv", ".gz", ".parquet"))), None)
        if table is not None:
            raise InputError(
                f"`{table}` cannot stand alone in `pauc data`: write pauc data -c tabular --data.path {table} "
                "--data.label <column>."
            )
        raise InputError(
            "no data given: name a config that has a `data` section, such as `-c digits`, or a class, "
            "such as `--data=DigitsLT`."
        )


def _configs(arguments: list[str]) -> Iterator[dict[str, Any]]:
    """The contents of the config files on the command line."""
    for path in given_configs(arguments):
        content = read_config(path)
        data = content.get("data", {})
        if not isinstance(data, (dict, str)):
            raise InputError(
                f"`-c {path}` has `data: {data}`: expected a class, such as `data: DigitsLT`, or a section with "
                "`class_path` and `init_args`."
            )
        yield content
