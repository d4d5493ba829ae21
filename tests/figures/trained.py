"""A small comparison that the tests of the figures draw."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from pauc_lightning.cli import main

METHODS = ("ce", "upauci")
SEEDS = (0, 1)
EPOCHS = 2
TRAIN = [
    *("--methods", *METHODS, "--seeds", *map(str, SEEDS), "--epochs", str(EPOCHS), "--region", "0.3,0.5"),
    "--trainer.accelerator=cpu",
]


def run(*arguments: object) -> None:
    main([str(argument) for argument in arguments])


def read(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def check_files(folder: Path, name: str) -> list[dict[str, Any]]:
    """The picture is there in both formats, with fonts as fonts; return the rows of the data."""
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    pdf = (folder / f"{name}.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert b"/Type3" not in pdf  # publishers refuse such fonts
    assert b"/FontFile2" in pdf
    assert not list(folder.glob(".*.partial"))
    return read(folder / f"{name}.csv")
