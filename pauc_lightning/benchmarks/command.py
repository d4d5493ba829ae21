"""``pauc benchmark <name>``: the measurements behind the project's claims."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Sequence

from pauc_lightning import benchmarks
from pauc_lightning.cli.plain_parser import PlainParser

# Every module of the package with a `main` is a benchmark; its docstring's first line is its description.
NAMES = tuple(
    sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name != "command")
)


def main(argv: Sequence[str]) -> None:
    """Run the benchmark named first; what follows are its own options."""
    descriptions = []
    for name in NAMES:
        module = importlib.import_module(f"{benchmarks.__name__}.{name}")
        descriptions.append(f"  {name:<10} {(module.__doc__ or '').strip().splitlines()[0]}")
    parser = PlainParser(
        prog="pauc benchmark",
        description="Measure a claim of this project on this machine.",
        epilog="\n".join(
            ["benchmarks:", *descriptions, "", "`pauc benchmark NAME --help` lists its options."]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=NAMES, help="which one to run")
    parser.add_argument("options", nargs=argparse.REMAINDER, help="options of the benchmark")
    arguments = parser.parse_args(argv)
    importlib.import_module(f"{benchmarks.__name__}.{arguments.name}").main(arguments.options)
