"""``pauc data``: what a data set consists of here, next to what the paper says, and its split as a file."""

from __future__ import annotations

import sys
import textwrap
from argparse import SUPPRESS, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import DefaultHelpFormatter
from lightning.pytorch import LightningDataModule

from pauc_lightning.arguments import check_path
from pauc_lightning.cli.configs import given_configs, read_config
from pauc_lightning.cli.parser import PaucArgumentParser
from pauc_lightning.data import LongTailDataModule
from pauc_lightning.data.image_files import shown
from pauc_lightning.data.published import Published
from pauc_lightning.errors import InputError

DESCRIPTION = """\
Show the size of each part and class of a data set, next to the paper's, and why they differ.

  pauc data -c cifar10_lt_1
  pauc data --data DigitsLT --data.seed=1 --export split.json

Other sections of the configs, such as the model, are ignored.
"""
_FEW_CLASSES = 20
# Like Any, for which the parser would instantiate what looks like a class.
_ANY_YAML: Any = dict | list | str | bool | int | float | None


class _Formatter(DefaultHelpFormatter, RawDescriptionHelpFormatter):
    """Leaves the examples in the description as they are."""


def main(argv: Sequence[str] | None = None) -> None:
    """Describe the data set that the options name; :class:`InputError` for what they should not say."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = PaucArgumentParser(prog="pauc data", description=DESCRIPTION, formatter_class=_Formatter)
    parser.add_argument("-c", "--config", action="config", help="YAML file with a `data` section.")
    parser.add_argument(
        "--export", type=str | None, default=None, help="Write the split to this JSON file, for `split_file`."
    )
    parser.add_argument(
        "--all_classes", action="store_true", help=f"List all classes, even more than {_FEW_CLASSES}."
    )
    parser.add_subclass_arguments(LightningDataModule, "data", required=True)
    for key in _other_sections(arguments):
        parser.add_argument(f"--{key}", type=_ANY_YAML, help=SUPPRESS)
    _check_data_given(arguments)
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
    sys.stdout.write(describe(data, config.all_classes) + "\n")
    if config.export is not None:
        replaced = " It replaces the file that was there." if Path(config.export).exists() else ""
        data.export_split(config.export)
        sys.stdout.write(f"\nThe split is in {config.export}: use it with --data.split_file.{replaced}\n")


def _other_sections(arguments: list[str]) -> list[str]:
    """The keys of the config files that are not this command's, such as ``model`` and ``trainer``."""
    keys = {key for content in _configs(arguments) for key in content}
    return sorted(keys - {"data", "config", "export", "all_classes"})


def _check_data_given(arguments: list[str]) -> None:
    """Refuse a command line that names no data, in words that say how to name them."""
    is_asked_for_help = any(argument in ("-h", "--help") or ".help" in argument for argument in arguments)
    is_named = any(argument.partition("=")[0].split(".")[0] == "--data" for argument in arguments)
    if not (is_asked_for_help or is_named or any("data" in content for content in _configs(arguments))):
        raise InputError(
            "no data given: name a config that has a `data` section, such as `-c digits`, or a class, "
            "such as `--data=DigitsLT`."
        )


def _configs(arguments: list[str]) -> Iterator[dict[str, Any]]:
    """The contents of the config files that the command line names."""
    for path in given_configs(arguments):
        content = read_config(path)
        data = content.get("data", {})
        if not isinstance(data, (dict, str)):
            raise InputError(
                f"`-c {path}` has `data: {data}`: expected a class, such as `data: DigitsLT`, or a section with "
                "`class_path` and `init_args`."
            )
        yield content


def describe(data: LongTailDataModule, all_classes: bool = False) -> str:
    """Sizes of parts and classes, next to the paper's if it has these data, and why they differ."""
    published: Published | None = getattr(data, "published", None)
    names = [shown(name) for name in data.source.class_names]
    positives = ", ".join(f"{names[i]} ({i})" if names else str(i) for i in data.positive_ids)
    title = f"{type(data).__name__}" + (f" = {published.name} of the paper" if published else "")
    blocks = [
        textwrap.fill(f"{title}; positive: {positives}", 100, subsequent_indent="  "),
        _parts_table(data, published),
        _classes_table(data, all_classes),
    ]
    if published is not None:
        blocks.append(_differences(data, published))
    return "\n\n".join(blocks)


def _part_counts(data: LongTailDataModule) -> dict[str, tuple[int, int]]:
    """Positives and negatives of each part, and of all."""
    counts = {}
    for name, part in data.split.items():
        n_pos = int(data.targets[part].sum())
        counts[name] = (n_pos, len(part) - n_pos)
    counts["all"] = (sum(n for n, _ in counts.values()), sum(n for _, n in counts.values()))
    return counts


def _parts_table(data: LongTailDataModule, published: Published | None) -> str:
    header = f"{'part':8}{'positives':>12}{'negatives':>12}{'total':>12}"
    if published is not None:
        header += f"{'paper pos.':>14}{'paper neg.':>12}"
    lines = [header]
    for name, (n_pos, n_neg) in _part_counts(data).items():
        line = f"{name:8}{n_pos:>12,}{n_neg:>12,}{n_pos + n_neg:>12,}"
        if published is not None and published.counted == name:
            line += f"{published.n_pos:>14,}{published.n_neg:>12,}"
        lines.append(line)
    return "\n".join(lines)


def _classes_table(data: LongTailDataModule, all_classes: bool) -> str:
    counts = data.class_counts
    names = [shown(name) for name in data.source.class_names]
    width = max([20, *(len(name) + 2 for name in names)]) if names else 8
    lines = [f"{'':2}{'class':>6}  {'name' if names else '':{width}}{'train':>8}{'val':>8}{'test':>8}"]
    listed = 0
    for i, row in enumerate(counts):
        if all_classes or len(counts) <= _FEW_CLASSES or row.is_positive or i < 3 or i >= len(counts) - 3:
            mark = "+" if row.is_positive else ""
            name = names[row.label] if names else ""
            lines.append(f"{mark:2}{row.label:>6}  {name:{width}}{row.train:>8,}{row.val:>8,}{row.test:>8,}")
            listed += 1
        elif lines[-1] != "  ...":
            lines.append("  ...")
    if listed < len(counts):
        lines.append(f"{listed} of {len(counts)} classes; --all_classes lists all")
    return "\n".join(lines)


def _differences(data: LongTailDataModule, published: Published) -> str:
    n_pos, n_neg = _part_counts(data)[published.counted]
    if (n_pos, n_neg) == (published.n_pos, published.n_neg):
        verdict = "The counts are the paper's."
    else:
        verdict = f"Against the paper: {n_pos - published.n_pos:+,} positives, {n_neg - published.n_neg:+,} negatives."
    return textwrap.fill(f"{verdict} {published.remark}", 100)
