"""``pauc benchmark NAME``: the measurements behind the project's claims."""

from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path

from pauc_lightning import benchmarks
from pauc_lightning.cli.plain_parser import PlainParser


def _source(name: str) -> str:
    return Path(benchmarks.__path__[0], f"{name}.py").read_text(encoding="utf-8")


# Every other module of the package with a `main` is a benchmark; the first line of its docstring describes it.
NAMES = tuple(
    sorted(
        module.name
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if module.name != "command" and "\ndef main(" in _source(module.name)
    )
)


def main(argv: Sequence[str]) -> None:
    """Run the benchmark that is named first with the options that follow."""
    width = max(map(len, NAMES))
    parser = PlainParser(
        prog="pauc benchmark",
        description="Measure a claim of this project on this machine.",
        epilog="\n".join(
            [
                "Benchmarks:",
                *(f"  {name:<{width}}  {_description(name)}" for name in NAMES),
                "",
                "`pauc benchmark NAME --help` shows its options.",
            ]
        ),
        usage="pauc benchmark NAME [options]",
    )
    parser.add_argument("name", choices=NAMES, metavar="NAME", help="the benchmark to run")
    parser.add_argument("options", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    importlib.import_module(f"{benchmarks.__name__}.{arguments.name}").main(arguments.options)


def _description(name: str) -> str:
    """The first line of a benchmark's docstring, read from its file: importing them all takes seconds."""
    return (ast.get_docstring(ast.parse(_source(name))) or "").partition("\n")[0]
