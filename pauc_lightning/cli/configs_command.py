"""``pauc configs``: the config files that ``-c`` finds by name."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from pauc_lightning.cli.plain_parser import PlainParser
from pauc_lightning.config_files import list_configs, shipped_folder

DESCRIPTION = """\
List the config files that -c finds by name, with their purpose.

  pauc fit -c digits -c upauci        # data/digits.yaml and method/upauci.yaml
  cat $(pauc configs --path)/data/digits.yaml

Files in ./configs are found first, then those that come with the project.
"""


def main(argv: Sequence[str]) -> None:
    """Print one line for each config, grouped by folder."""
    parser = PlainParser(prog="pauc configs", description=DESCRIPTION)
    parser.add_argument("--path", action="store_true", help="print only the folder of the project's configs")
    if parser.parse_args(argv).path:
        print(shipped_folder())
        return
    configs = list(list_configs())
    width = max((len(Path(name).name) for _, name, _ in configs), default=0)
    for (folder, kind), group in groupby(configs, key=lambda row: (row[0], Path(row[1]).parent)):
        where = "" if folder == shipped_folder() else f"  (in {folder})"
        print(f"{kind}{where}" if str(kind) != "." else f"{folder}")
        for _, name, description in group:
            print(f"  {Path(name).name:<{width}}  {description}")
